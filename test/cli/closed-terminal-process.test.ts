// A terminal that is closed at a question, with the real program on a real pseudo-terminal.
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createPlace } from './support-process.ts';

const bin = resolve(import.meta.dirname, '../../bin/retinue.js');
const script = {
  runs: [{ times: 'any', steps: [{ calls: [{ tool: 'write', args: { path: 'out.txt', content: 'x' } }] }, { text: 'done' }] }],
};

/** Resolves to the content of the file, once it has one. */
async function contentOf(path: string): Promise<string> {
  for (;;) {
    try {
      const text = readFileSync(path, 'utf8');
      if (text !== '') return text;
    } catch {}
    await sleep(10);
  }
}

// The flags of `script` differ elsewhere.
it.skipIf(process.platform !== 'linux').each([
  ['and the system reports it', ':'],
  ['and only the input says so', ''],
])('a terminal that is closed at a question answers nothing: the run is paused, %s', { timeout: 60_000 }, async (_, trap) => {
  using place = createPlace(script);
  writeFileSync(join(place.folder, 'retinue.config.json'), JSON.stringify({ rules: ['ask write'] }));
  const command = `trap '${trap}' HUP; '${process.execPath}' '${bin}' run 'write it'; echo $? > code.txt`;
  const env = { PATH: process.env.PATH, HOME: place.folder, RETINUE_MODEL: 'script/script.json', TERM: 'xterm', SHELL: '/bin/sh' };
  const terminal = spawn('script', ['-qc', command, '/dev/null'], { cwd: place.folder, env, stdio: ['pipe', 'pipe', 'ignore'] });
  let shown = '';
  terminal.stdout.on('data', (text) => {
    shown += text;
  });
  while (!shown.includes('Allow this call?')) await sleep(10);
  terminal.kill('SIGKILL');
  expect(await contentOf(join(place.folder, 'code.txt'))).toBe('143\n');
  const facts = await place.facts((found) => found.length > 0);
  expect(facts.filter(({ type }) => type === 'approval.answered' || type === 'run.ended')).toEqual([]);
  expect(facts.map(({ type }) => type)).toContain('approval.asked');
  expect(JSON.parse((await place.run('approve', '--json')).out)).toHaveLength(1);
});
