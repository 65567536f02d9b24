// Every example runs unchanged against the built package.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';

const folder = resolve(import.meta.dirname, '../../examples/library');
const printed: Record<string, string> = {
  'quick-start.ts': 'uses list\ncompleted: I have looked around.\n',
  'sketch.ts': 'run.created\nrun.started\nmodel.asked\ndelta\nmodel.answered\ntool.asked\ntool.finished\nrun.ended\ncompleted a.ts 6\n',
  'typed-result.ts': 'a.ts is high, after 2 turns\n',
  'many.ts': 'completed\nfailed empty\ncompleted\n',
  'inside-an-agent.ts': '[run … · completed · 1 turn · $?]\nMy helper says they pass.\n',
  'approve.ts': 'clerk asks to use pay with {"invoice":"2026-11"}: ask pay of the program\nNothing was paid.\n',
  'server-client.ts': 'uses list\ncompleted: I have looked around.\n',
  'crash-resume.ts': 'I have to check whether it is published.\n',
  'flow.ts': "[ 'A folder with source files.', 'A folder with source files.' ]\n",
  'own-dialect.ts': 'The expert says: in src/parse.ts.\ntrue\n',
  'own-tools.ts': 'There is nothing about it.\nlibrarian completed\n',
};

describe('the examples of the library', () => {
  it('are all listed here', () => {
    expect(readdirSync(folder).sort()).toEqual(Object.keys(printed).sort());
  });

  it.each(['README.md', 'docs/library.md', 'docs/flows.md', 'docs/http-api.md'])('contain the programs of %s word for word', (page) => {
    const root = resolve(folder, '../..');
    const programs = readdirSync(folder).map((name) => readFileSync(resolve(folder, name), 'utf8'));
    const blocks = [...readFileSync(resolve(root, page), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code as string);
    expect(blocks.length).toBeGreaterThan(0);
    for (const block of blocks)
      expect(
        programs.some((program) => program.includes(block)),
        block,
      ).toBe(true);
  });

  it('compile against the published types', async () => {
    await promisify(execFile)('npx', ['tsc', '--noEmit', '-p', resolve(folder, '../tsconfig.json')], { cwd: resolve(folder, '../..') });
  }, 60_000);

  it.each(Object.entries(printed))('%s prints the expected text', async (name, expected) => {
    // The user's own folders stay as they are.
    const home = mkdtempSync(join(tmpdir(), 'retinue-example-home-'));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    const env = { PATH: process.env.PATH, HOME: home };
    const { stdout } = await promisify(execFile)(process.execPath, [resolve(folder, name)], { cwd: folder, env });
    expect(stdout).toBe(expected);
  });
});
