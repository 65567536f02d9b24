// The foreground side of `run --detach`, with background programs that misbehave. The real one is in test/cli/detach-process.test.ts.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DatabaseOpenError } from '../../src/cli/errors.ts';
import { detach, removeLog } from '../../src/main/detach.ts';
import { createTestWorkspace, type TestWorkspace } from '../support/workspace.ts';

const brief = { task: 'a canary in a coal mine' };
const runId = '00000000000000a0';

function ask(fixture: TestWorkspace, program: string, startTimeoutMs = 60_000) {
  const file = fixture.write('program.mjs', program);
  const request = { flags: { limits: {}, rules: [] }, brief, open: {} };
  return detach(request, { program: file, workspace: fixture.workspace, onInterrupt: () => () => {}, startTimeoutMs });
}

const logs = (fixture: TestWorkspace) => readdirSync(join(fixture.workspace, '.retinue', 'logs')).filter((name) => name.endsWith('.log'));
const answer = (report: object) => `import { writeSync } from 'node:fs'; writeSync(3, ${JSON.stringify(JSON.stringify(report))});`;

describe('a background process', () => {
  it('gets the brief through a pipe, not on its command line, and writes to a private log', async () => {
    using fixture = createTestWorkspace();
    const { log } = await ask(
      fixture,
      `import { readFileSync } from 'node:fs';
       console.log(JSON.stringify({ args: process.argv.slice(2), stdin: JSON.parse(readFileSync(0, 'utf8')) }));
       ${answer({ runId }).replace("import { writeSync } from 'node:fs';", "const { writeSync } = await import('node:fs');")}`,
    );
    expect(log).toBe(join(fixture.workspace, '.retinue', 'logs', `${runId}.log`));
    expect(statSync(log).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(log, 'utf8'))).toEqual({
      args: ['--detached-run'],
      stdin: { flags: { limits: {}, rules: [] }, brief, open: {} },
    });
    expect(readFileSync(join(fixture.workspace, '.retinue', '.gitignore'), 'utf8')).toMatch(/^\*\n/);
  });

  it.each(['.retinue', '.retinue/logs'])('writes no log if %s is a link', async (name) => {
    using fixture = createTestWorkspace();
    const elsewhere = join(fixture.workspace, '..', 'elsewhere');
    mkdirSync(join(elsewhere, 'logs'), { recursive: true });
    if (name !== '.retinue') mkdirSync(join(fixture.workspace, '.retinue'));
    symlinkSync(name === '.retinue' ? elsewhere : join(elsewhere, 'logs'), join(fixture.workspace, name));
    await expect(ask(fixture, answer({ runId }))).rejects.toMatchObject({ message: expect.stringContaining('is a link') });
    writeFileSync(join(elsewhere, 'logs', `${runId}.log`), 'kept');
    removeLog(fixture.workspace, runId);
    expect(readdirSync(join(elsewhere, 'logs'))).toEqual([`${runId}.log`]);
  });

  it('that ends without a report is an error that shows its output', async () => {
    using fixture = createTestWorkspace();
    const failed = ask(fixture, `console.error('out of luck'); process.exit(3);`);
    await expect(failed).rejects.toMatchObject({ code: 'crashed', message: expect.stringContaining('out of luck') });
    expect(logs(fixture)).toHaveLength(1);
  });

  it.each(['nonsense', '{"runId":"x"}', '{}'])('that reports %s counts as crashed', async (text) => {
    using fixture = createTestWorkspace();
    await expect(ask(fixture, `import { writeSync } from 'node:fs'; writeSync(3, ${JSON.stringify(text)});`)).rejects.toMatchObject({
      code: 'crashed',
    });
  });

  it('that never reports is stopped', async () => {
    using fixture = createTestWorkspace();
    const [begun, ended] = ['begun', 'ended'].map((name) => join(fixture.folder, name)) as [string, string];
    const program = `import { writeFileSync } from 'node:fs';
      process.on('SIGTERM', () => { writeFileSync(${JSON.stringify(ended)}, ''); process.exit(0); });
      setInterval(() => {}, 1000);
      writeFileSync(${JSON.stringify(begun)}, '');`;
    // On a busy machine the program may need longer to begin than the first time limit.
    for (const ms of [1500, 10_000, 30_000]) {
      await expect(ask(fixture, program, ms)).rejects.toMatchObject({ code: 'crashed' });
      if (existsSync(begun)) break;
    }
    await expect.poll(() => existsSync(ended)).toBe(true);
  });

  it('passes a refusal on and leaves no log', async () => {
    using fixture = createTestWorkspace();
    const error = { code: 'unknown_agent', message: 'no such agent', retryable: false };
    await expect(ask(fixture, answer({ error, unopened: false }))).rejects.toMatchObject({
      code: 'unknown_agent',
      message: 'no such agent',
    });
    await expect(ask(fixture, answer({ error: { ...error, code: 'store_io' }, unopened: true }))).rejects.toBeInstanceOf(DatabaseOpenError);
    expect(logs(fixture)).toEqual([]);
  });

  it('is not started if its log cannot be written', async () => {
    using fixture = createTestWorkspace();
    fixture.write('work/.retinue', 'a file');
    await expect(ask(fixture, answer({ runId }))).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining('.retinue') });
  });
});
