// Without a sandbox: processes that leave the process group and remove the mark from their environment are ended and named.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createBash } from '../../src/tools/bash.ts';
import { call, makeWorkspace } from './support.ts';

const bash = createBash({ sandbox: null });
/** A number for `sleep` that no other test has. */
const nap = (): string => String(3000 + Math.random()).slice(0, 16);
const sleepers = (seconds: string) =>
  execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.trim() === `sleep ${seconds}`);

const daemon = `import os, sys
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.chdir('/')
for fd in range(3): os.close(fd)
os.open('/dev/null', os.O_RDWR); os.dup(0); os.dup(0)
os.execve('/bin/sleep', ['sleep', sys.argv[1]], {})
`;

describe.runIf(process.platform === 'linux')('without a sandbox', () => {
  test.each([
    { name: 'at once', command: (s: string) => `env -i setsid sleep ${s} >/dev/null 2>&1 &` },
    { name: 'with a double fork', command: (s: string) => `(env -i setsid sleep ${s} >/dev/null 2>&1 </dev/null &)` },
    { name: 'as a daemon that changes its directory', command: (s: string) => `env -i python3 daemon.py ${s}` },
    { name: 'late', command: (s: string) => `sleep 0.2; env -i setsid -f sleep ${s} >/dev/null 2>&1; sleep 0.2` },
    { name: 'through another program', command: (s: string) => `env -i sh -c 'setsid sh -c "sleep ${s} & wait" >/dev/null 2>&1 &'` },
  ])('a process that escapes $name is ended and named', async ({ command }) => {
    const { workspace } = makeWorkspace();
    writeFileSync(join(workspace, 'daemon.py'), daemon);
    const seconds = nap();
    const { output } = await call(bash, workspace, { command: command(seconds) });
    expect(output).toMatch(/\[ended what it left running: .*sleep \(\d+\)/);
    expect(sleepers(seconds)).toEqual([]);
  });

  test('a stopped command takes them with it', async () => {
    const { workspace } = makeWorkspace();
    const seconds = nap();
    const controller = new AbortController();
    onTestFinished(() => controller.abort(new Error('over')));
    const running = call(
      bash,
      workspace,
      { command: `env -i setsid sleep ${seconds} >/dev/null 2>&1 & sleep ${seconds}` },
      { signal: controller.signal },
    );
    await expect.poll(() => sleepers(seconds).length, { timeout: 30_000 }).toBe(2);
    controller.abort(new Error('enough'));
    await running;
    expect(sleepers(seconds)).toEqual([]);
  });

  test('processes of another command are left alone', async () => {
    const { workspace } = makeWorkspace();
    const seconds = nap();
    const controller = new AbortController();
    onTestFinished(() => controller.abort(new Error('over')));
    const other = call(bash, workspace, { command: `setsid sleep ${seconds} & sleep ${seconds}` }, { signal: controller.signal });
    await expect.poll(() => sleepers(seconds).length, { timeout: 30_000 }).toBe(2);
    const { output } = await call(bash, workspace, { command: 'env -i setsid true; sleep 0.1' });
    expect(output).toBe('[no output]');
    expect(sleepers(seconds)).toHaveLength(2);
    controller.abort(new Error('enough'));
    await other;
  });

  test('so are those of a later command that removed the mark, whether they escaped from it or not', async () => {
    const { workspace } = makeWorkspace();
    const seconds = nap();
    const controller = new AbortController();
    onTestFinished(() => controller.abort(new Error('over')));
    const first = call(bash, workspace, { command: 'until test -e go; do sleep 0.05; done' });
    const commands = [
      `exec env -i sleep ${seconds}`,
      `env -i sh -c 'setsid --wait sleep ${seconds}; :'; :`,
      `(env -i setsid sleep ${seconds} >/dev/null 2>&1 </dev/null &); until test -e never; do sleep 0.05; done`,
    ];
    const later = commands.map((command) => call(bash, workspace, { command }, { signal: controller.signal }));
    await expect.poll(() => sleepers(seconds).length, { timeout: 30_000 }).toBe(3);
    writeFileSync(join(workspace, 'go'), '');
    expect((await first).output).toBe('[no output]');
    expect(sleepers(seconds)).toHaveLength(3);
    controller.abort(new Error('enough'));
    await Promise.all(later);
    expect(sleepers(seconds)).toEqual([]);
  });
});
