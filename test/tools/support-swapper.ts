// A process of its own that swaps a directory and a file of a workspace for links that lead out, and back, as fast as it can, until it is ended.
// Arguments: the workspace, and what is outside.
import { existsSync, lstatSync, renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';

const [workspace = '', outside = ''] = process.argv.slice(2);
const at = (name: string) => join(workspace, name);

/** Each name is a plain thing in one half of the time and a link in the other; `aside` and `bait` hold the one that is not there. */
const games = [
  { name: 'prey', aside: 'prey-aside', bait: 'prey-bait', target: outside },
  { name: 'deep/prey', aside: 'deep/aside', bait: 'deep/bait', target: outside },
  { name: 'file', aside: 'file-aside', bait: 'file-bait', target: join(outside, 'secret') },
];
for (const { bait, target } of games) symlinkSync(target, at(bait));

function attempt(step: () => void): void {
  try {
    step();
  } catch {}
}

function spin(): void {
  const end = performance.now() + Math.random() * 0.3;
  while (performance.now() < end);
}

/** A tool that makes directories or files may have put its own there: it is taken away, so that the game goes on. */
function clear(name: string): void {
  attempt(() => {
    if (lstatSync(name).isSymbolicLink()) unlinkSync(name);
    else rmSync(name, { recursive: true, force: true });
  });
}

process.stdout.write('ready\n');
for (;;) {
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
