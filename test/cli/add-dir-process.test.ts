// `--add-dir`: tools and commands read a folder outside the workspace, and nothing writes there. Real processes and the real sandbox.
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { StoredFact } from '../../src/contract/fact.ts';
import { createPlace } from './support-process.ts';

function createFolder(): { folder: string } & Disposable {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-other-'));
  writeFileSync(join(folder, 'lib.ts'), 'export const port = 4711;\n');
  writeFileSync(join(folder, 'secret.txt'), 'the canary\n');
  symlinkSync('/etc/hostname', join(folder, 'out'));
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Runs an agent that makes these calls, and returns the results in their order. */
async function runCalls(calls: { tool: string; args: object }[], ...flags: string[]): Promise<string[]> {
  using place = createPlace({ runs: [{ steps: [{ calls }, { text: 'done' }] }] });
  writeFileSync(join(place.folder, 'own.txt'), 'own\n');
  const { code, err } = await place.run('run', '--plain', ...flags, 'work');
  expect(code, err).toBe(0);
  const facts = JSON.parse((await place.run('logs', 'last', '--json')).out) as StoredFact[];
  return facts
    .flatMap((fact) => (fact.type === 'tool.finished' ? [fact.data] : []))
    .toSorted((a, b) => a.index - b.index)
    .map(({ status, output }) => `${status}: ${output}`);
}

describe('retinue run --add-dir', () => {
  it.each(['inline', 'process'])('file tools read there by absolute path, and write only in the workspace (%s)', async (host) => {
    using other = createFolder();
    const at = (name: string) => join(other.folder, name);
    const calls = [
      { tool: 'read', args: { path: at('lib.ts') } },
      { tool: 'list', args: { path: other.folder } },
      { tool: 'glob', args: { pattern: '*.ts', path: other.folder } },
      { tool: 'grep', args: { pattern: 'port', path: other.folder } },
      { tool: 'read', args: { path: 'own.txt' } },
      { tool: 'read', args: { path: at('out') } },
      { tool: 'read', args: { path: join(dirname(other.folder), 'elsewhere') } },
      { tool: 'write', args: { path: at('new.ts'), content: 'x' } },
      { tool: 'edit', args: { path: at('lib.ts'), old: '4711', new: '1' } },
    ];
    const results = await runCalls(calls, '--host', host, '--add-dir', other.folder);
    expect(results.slice(0, 5)).toEqual([
      expect.stringContaining('export const port = 4711;'),
      expect.stringMatching(/^ok: lib\.ts \(\d+ bytes\)\nout .*\nsecret\.txt/),
      `ok: ${at('lib.ts')}`,
      expect.stringMatching(new RegExp(`^ok: ${at('lib.ts')}:1:export const port = 4711;`)),
      expect.stringContaining('own'),
    ]);
    for (const result of results.slice(5)) expect(result).toMatch(/^error: .*(outside the workspace|leads out of the workspace)/s);
    expect([existsSync(at('new.ts')), readFileSync(at('lib.ts'), 'utf8')]).toEqual([false, 'export const port = 4711;\n']);
  });

  it('without the flag the folder is closed, and rules apply to its paths, however they are spelt', async () => {
    using other = createFolder();
    const read = (path: string) => ({ tool: 'read', args: { path } });
    expect(await runCalls([read(join(other.folder, 'lib.ts'))])).toEqual([expect.stringContaining('is outside the workspace')]);
    const spellings = [join(other.folder, 'secret.txt'), `${other.folder}/./x/../secret.txt`];
    symlinkSync('secret.txt', join(other.folder, 'link'));
    const calls = [...spellings, join(other.folder, 'link'), join(other.folder, 'lib.ts')].map(read);
    const results = await runCalls(calls, '--add-dir', other.folder, '--deny', `read:${join(other.folder, 'secret.txt')}`);
    expect(results.map((result) => result.split(':')[0])).toEqual(['denied', 'denied', 'denied', 'ok']);
  });

  it('commands in the sandbox read there and cannot write there, nor read what rules close', async () => {
    using other = createFolder();
    const bash = (command: string) => ({ tool: 'bash', args: { command } });
    const path = join(other.folder, 'lib.ts');
    const secret = join(other.folder, 'secret.txt');
    const closed = await runCalls(
      [bash(`cat ${secret} ${path}`)],
      '--sandbox',
      'required',
      '--add-dir',
      other.folder,
      '--deny',
      `read:${secret}`,
    );
    expect(closed[0]).toMatch(/port = 4711/);
    expect(closed[0]).not.toContain('canary');
    const results = await runCalls(
      [bash(`cat ${path}`), bash(`echo x > ${path}`), bash(`touch ${other.folder}/new; ls ${other.folder}`)],
      ...['--sandbox', 'required', '--add-dir', other.folder],
    );
    expect(results[0]).toBe('ok: export const port = 4711;');
    expect(results[1]).toMatch(/^error: .*(Read-only file system|Permission denied)/s);
    expect(results[2]).not.toMatch(/^new$/m);
    expect(readFileSync(path, 'utf8')).toBe('export const port = 4711;\n');
  });

  it('a folder that does not exist, contains the workspace or contains the home directory is refused', async () => {
    using place = createPlace({ runs: [] });
    for (const [folder, said] of [
      ['nowhere', /nowhere/],
      ['..', /contains the workspace/],
      [dirname(homedir()), /contains (the workspace|your home directory)|does not exist/],
    ] as const) {
      const { code, err } = await place.run('run', '--add-dir', folder, 'work');
      expect([code, err]).toEqual([2, expect.stringMatching(said)]);
    }
  });
});
