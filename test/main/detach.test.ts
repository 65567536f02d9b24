// The asking side, with programs that do not keep their part of the bargain. The real one is in test/cli/detach-process.test.ts.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DatabaseOpenError } from '../../src/cli/errors.ts';
import { detach } from '../../src/main/detach.ts';
import { createPlace, type TestPlace } from './place.ts';

const brief = { task: 'a canary in a coal mine' };
const runId = '00000000000000a0';

function ask(place: TestPlace, program: string, startMs = 10_000) {
  const file = place.write('program.mjs', program);
  const request = { flags: { limits: {}, rules: [] }, brief, open: {} };
  return detach(request, { program: file, workspace: place.workspace, onInterrupt: () => () => {}, startMs });
}

const logs = (place: TestPlace) => readdirSync(join(place.workspace, '.retinue', 'logs')).filter((name) => name.endsWith('.log'));
const answer = (report: object) => `import { writeSync } from 'node:fs'; writeSync(3, ${JSON.stringify(JSON.stringify(report))});`;

describe('a background process', () => {
  it('gets the brief over a pipe, not on its command line, and writes to a log of its owner', async () => {
    using place = createPlace();
    const { log } = await ask(
      place,
      `import { readFileSync } from 'node:fs';
       console.log(JSON.stringify({ args: process.argv.slice(2), stdin: JSON.parse(readFileSync(0, 'utf8')) }));
       ${answer({ runId }).replace("import { writeSync } from 'node:fs';", "const { writeSync } = await import('node:fs');")}`,
    );
    expect(log).toBe(join(place.workspace, '.retinue', 'logs', `${runId}.log`));
    expect(statSync(log).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(log, 'utf8'))).toEqual({
      args: ['--detached-run'],
      stdin: { flags: { limits: {}, rules: [] }, brief, open: {} },
    });
    expect(readFileSync(join(place.workspace, '.retinue', '.gitignore'), 'utf8')).toMatch(/^\*\n/);
  });

  it('that ends without a word is told with what it wrote', async () => {
    using place = createPlace();
    const failed = ask(place, `console.error('out of luck'); process.exit(3);`);
    await expect(failed).rejects.toMatchObject({ code: 'crashed', message: expect.stringContaining('out of luck') });
    expect(logs(place)).toHaveLength(1);
  });

  it.each(['nonsense', '{"runId":"x"}', '{}'])('that says %s has said nothing', async (text) => {
    using place = createPlace();
    await expect(ask(place, `import { writeSync } from 'node:fs'; writeSync(3, ${JSON.stringify(text)});`)).rejects.toMatchObject({
      code: 'crashed',
    });
  });

  it('that never says anything is ended', async () => {
    using place = createPlace();
    const file = join(place.folder, 'ended');
    const program = `import { writeFileSync } from 'node:fs';
      process.on('SIGTERM', () => { writeFileSync(${JSON.stringify(file)}, ''); process.exit(0); });
      setInterval(() => {}, 1000);`;
    await expect(ask(place, program, 1500)).rejects.toMatchObject({ code: 'crashed' });
    await expect.poll(() => existsSync(file), { timeout: 5000 }).toBe(true);
  });

  it('passes a refusal on, and leaves no log of it', async () => {
    using place = createPlace();
    const error = { code: 'unknown_agent', message: 'no such agent', retryable: false };
    await expect(ask(place, answer({ error, unopened: false }))).rejects.toMatchObject({ code: 'unknown_agent', message: 'no such agent' });
    await expect(ask(place, answer({ error: { ...error, code: 'store_io' }, unopened: true }))).rejects.toBeInstanceOf(DatabaseOpenError);
    expect(logs(place)).toEqual([]);
  });

  it('is not started where its log cannot be written', async () => {
    using place = createPlace();
    place.write('work/.retinue', 'a file');
    await expect(ask(place, answer({ runId }))).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining('.retinue') });
  });
});
