// A process that swaps a directory and a file of a workspace for links that lead out, and back, as fast as it can, until it or its parent is ended.
// Arguments: the workspace, and the directory outside.
import { existsSync, lstatSync, renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';

const [workspace = '', outside = ''] = process.argv.slice(2);
const at = (name: string) => join(workspace, name);

/** Each name is a plain file or directory half of the time and a link the other half; `aside` and `bait` store the other one. */
const games = [
  { name: 'prey', aside: 'prey-aside', bait: 'prey-bait', target: outside },
  { name: 'deep/prey', aside: 'deep/aside', bait: 'deep/bait', target: outside },
  { name: 'file', aside: 'file-aside', bait: 'file-bait', target: join(outside, 'secret') },
];
for (const { bait, target } of games) symlinkSync(target, at(bait));

function attempt(step: () => void): void {
  try {
    step();
  } catch {
    // The other process was faster.
  }
}

function spin(): void {
  const end = performance.now() + Math.random() * 0.3;
  while (performance.now() < end);
}

/** Removes a directory or file that a tool has created there, so that the swapping can continue. */
function clear(name: string): void {
  attempt(() => {
    if (lstatSync(name).isSymbolicLink()) unlinkSync(name);
    else rmSync(name, { recursive: true, force: true });
  });
}

const parent = process.ppid;
process.stdout.write('ready\n');
while (process.ppid === parent) {
  for (const { name, aside, bait, target } of games) {
    attempt(() => renameSync(at(name), at(aside)));
    attempt(() => renameSync(at(bait), at(name)));
    spin();
    attempt(() => renameSync(at(name), at(bait)));
    if (existsSync(at(aside))) clear(at(name));
    attempt(() => renameSync(at(aside), at(name)));
    attempt(() => symlinkSync(target, at(bait)));
    spin();
  }
}
