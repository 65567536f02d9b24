// The real program on a real terminal, which `script` of util-linux makes: what was typed ahead approves nothing.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { createPlace, type Place } from './support-process.ts';

const bin = resolve(import.meta.dirname, '../../bin/retinue.js');
const hasTerminal = /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '');
const steps = [{ calls: [{ tool: 'write', args: { path: 'a.txt', content: 'a' } }] }, { text: 'done' }];

/** Types `ahead` at once, and `word` again and again once the question is there, until the program ends. */
async function session(place: Place, ahead: string, word: string): Promise<string> {
  writeFileSync(join(place.folder, 'retinue.config.json'), JSON.stringify({ rules: ['ask write'] }));
  const env = {
    PATH: process.env.PATH,
    HOME: place.folder,
    RETINUE_MODEL: 'script/script.json',
    NO_COLOR: '1',
    TERM: 'xterm',
    SHELL: '/bin/sh',
  };
  const command = `"${process.execPath}" "${bin}" run --plain go`;
  const child = spawn('script', ['-qec', command, '/dev/null'], { cwd: place.folder, env, stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdin.on('error', () => {});
  child.stdin.write(ahead);
  let seen = '';
  let typing: NodeJS.Timeout | undefined;
  child.stdout.setEncoding('utf8').on('data', (text) => {
    seen += text;
    if (!seen.includes('Allow this call?') || typing) return;
    // Once at once, which is too early to count, and then slowly.
    child.stdin.write(word);
    typing = setInterval(() => child.stdin.write(word), 1000);
  });
  await new Promise((done) => child.on('close', done));
  clearInterval(typing);
  return seen;
}

it.skipIf(!hasTerminal).each([
  ['y\r', 'n\r', false],
  ['n\r', 'y\r', true],
])('input typed before the question is ignored: %j, then %j', { timeout: 60_000 }, async (ahead, word, made) => {
  using place = createPlace({ runs: [{ steps }] });
  const seen = await session(place, ahead, word);
  expect(seen).toContain('affects:');
  expect(seen).toContain('are ignored');
  expect(existsSync(join(place.folder, 'a.txt'))).toBe(made);
  const facts = JSON.parse((await place.run('logs', 'last', '--json')).out) as { type: string; data: object }[];
  expect(facts.filter(({ type }) => type === 'approval.answered').map(({ data }) => data)).toMatchObject([{ allowed: made }]);
});
