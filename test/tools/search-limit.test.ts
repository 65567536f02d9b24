// The time limit of a search on a machine where this process comes late: what ripgrep has done in time counts.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDirectory } from '../../src/tools/files/confine.ts';
import { runRipgrep, searchMs } from '../../src/tools/search/ripgrep.ts';
import { makeWorkspace } from './support.ts';

/** Whether all ripgrep processes of this process have ended. It does not know of that yet. */
function hasRipgrepEnded(): boolean {
  const states = readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const [, name, state, parent] = /\((.*)\) (\S) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
      return name === 'rg' && Number(parent) === process.pid ? [state] : [];
    } catch {
      return [];
    }
  });
  return states.every((state) => state === 'Z');
}

test.runIf(process.platform === 'linux').each([
  ['one process', undefined],
  ['a filter', ['--null-data', 'a']],
])('a search that has ended is complete, however late that is noticed: %s', async (_, filter) => {
  const { workspace } = makeWorkspace();
  writeFileSync(join(workspace, 'a'), 'needle\n');
  const directory = await openDirectory(workspace, '', { create: false });
  if (!directory.ok) throw new Error(directory.reason);
  await using _handle = directory.dir.handle;
  let output = '';
  const args = filter === undefined ? ['needle', '.'] : ['--files', '--null', '.'];
  const searching = runRipgrep({
    ...{ dir: directory.dir, args, signal: new AbortController().signal },
    ...(filter === undefined ? {} : { filter }),
    onOutput: (chunk) => {
      output += chunk.toString('utf8');
    },
  });
  // Nothing of this process runs until the search has ended and its time is over.
  const end = performance.now() + searchMs + 50;
  while (performance.now() < end || !hasRipgrepEnded());
  expect(await searching).toEqual({ ok: true, complete: true });
  expect(output).toContain(filter === undefined ? './a:needle' : './a\0');
});
