// A command that is cancelled while its sandbox is being made leaves no process, whatever the stage.
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Sandbox } from '../../src/ports/sandbox.ts';
import { createBash } from '../../src/tools/bash.ts';
import { call, makeWorkspace } from '../tools/support.ts';
import { onLinux, realSandbox, rightsOf } from './support.ts';

/** Living processes that carry a mark in their environment, as the system shows them. */
function marked(mark: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        if (/^State:\s*[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) return [];
        const environment = readFileSync(`/proc/${pid}/environ`, 'latin1');
        return environment.includes(mark) ? [readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ').slice(0, 80)] : [];
      } catch {
        return [];
      }
    });
}

let count = 0;

interface Stage {
  sandbox: Sandbox;
  mark: string;
  workspace: string;
  controller: AbortController;
}

function start({ sandbox, mark, workspace, controller }: Stage) {
  const bash = createBash({ sandbox, marks: () => ({ RETINUE_TEST: mark }) });
  return call(bash, workspace, { command: 'touch begun; sleep 600' }, { signal: controller.signal, rights: rightsOf() });
}

function stage(sandbox: Sandbox): Stage {
  return { sandbox, mark: `cancel-${process.pid}-${++count}`, workspace: makeWorkspace().workspace, controller: new AbortController() };
}

/** A helper that does something before it becomes the real one. */
function wrapHelper(makeScript: (folder: string) => string): { env: NodeJS.ProcessEnv; folder: string } {
  const { outside } = makeWorkspace();
  const file = join(outside, 'bwrap');
  writeFileSync(file, `#!/bin/bash\ncase "$*" in *--info-fd*) ;; *) exec /usr/bin/bwrap "$@" ;; esac\n${makeScript(outside)}\n`);
  chmodSync(file, 0o755);
  return { env: { ...process.env, PATH: `${outside}:/usr/bin:/bin` }, folder: outside };
}

async function expectNothingLeft(at: Stage, running: ReturnType<typeof start>): Promise<void> {
  const result = await running;
  expect(result).toMatchObject({ isError: true, output: expect.stringContaining('[stopped before it was done]') });
  expect(marked(at.mark)).toEqual([]);
  expect(existsSync(join(at.workspace, 'begun'))).toBe(false);
}

describe.runIf(onLinux)('cancelled', () => {
  test('while the sandbox is planned: nothing is started, and its limits are released', async () => {
    const real = await realSandbox();
    let released = 0;
    const at = stage({
      ...real,
      async confine(wanted) {
        const made = await real.confine(wanted);
        at.controller.abort(new Error('enough'));
        if (!made.ok) return made;
        const { release } = made.confined;
        const countRelease = (each: typeof release) => () => {
          released++;
          return each();
        };
        return {
          ok: true,
          confined: { ...made.confined, argv: ['touch', join(at.workspace, 'begun')], release: countRelease(release) },
        };
      },
    });
    await expectNothingLeft(at, start(at));
    expect(released).toBe(1);
  });

  test('before the helper has made anything', async () => {
    const { env, folder } = wrapHelper((outside) => `touch ${outside}/here; sleep 600 & wait`);
    const at = stage(await realSandbox({ env }));
    const running = start(at);
    await expect.poll(() => existsSync(join(folder, 'here')), { timeout: 60_000 }).toBe(true);
    at.controller.abort(new Error('enough'));
    await expectNothingLeft(at, running);
  });

  test('after the helper has made a process that waits for it', async () => {
    // The helper blocks until this descriptor is readable; its child already exists and waits for the helper.
    const { env, folder } = wrapHelper(
      (outside) =>
        `args=(); for each; do [ "$each" = --disable-userns ] || args+=("$each"); done; exec 9<>${outside}/fifo; ` +
        'exec /usr/bin/bwrap --userns-block-fd 9 "' +
        '$' +
        '{args[@]}"',
    );
    execFileSync('mkfifo', [join(folder, 'fifo')]);
    const at = stage(await realSandbox({ env }));
    const running = start(at);
    await expect.poll(() => marked(at.mark).filter((line) => line.includes('bwrap')).length, { timeout: 60_000 }).toBe(2);
    at.controller.abort(new Error('enough'));
    await expectNothingLeft(at, running);
  });

  test('when the first process is ready, before the command begins', async () => {
    const real = await realSandbox();
    const at = stage({
      ...real,
      async confine(wanted) {
        const made = await real.confine(wanted);
        if (!made.ok) return made;
        const { begun } = made.confined;
        const confined = {
          ...made.confined,
          begun(init: number) {
            at.controller.abort(new Error('enough'));
            begun?.(init);
            return 'not now';
          },
        };
        return { ok: true, confined };
      },
    });
    await expectNothingLeft(at, start(at));
  });

  test('at 120 moments of a real start', { timeout: 120_000 }, async () => {
    const sandbox = await realSandbox();
    const { workspace } = makeWorkspace();
    const mark = `cancel-${process.pid}-${++count}`;
    const one = async (n: number) => {
      const at: Stage = { sandbox, mark, workspace, controller: new AbortController() };
      const running = start(at);
      if (n % 3 === 0) for (let turn = 0; turn < n; turn++) await nextTurn();
      else await sleep(n / 2);
      at.controller.abort(new Error('enough'));
      await running;
    };
    for (let n = 0; n < 120; n += 4) await Promise.all([n, n + 1, n + 2, n + 3].map(one));
    expect(marked(mark)).toEqual([]);
  });

  test('kill -9 of the supervisor while it tries the sandbox', async () => {
    const mark = `probe-${process.pid}-${++count}`;
    const { outside, workspace } = makeWorkspace();
    execFileSync('mkfifo', [join(outside, 'fifo')]);
    writeFileSync(
      join(outside, 'bwrap'),
      `#!/bin/bash\nargs=(); for each; do [ "$each" = --disable-userns ] || args+=("$each"); done\n` +
        `exec 9<>${outside}/fifo 8>/dev/null\nexec /usr/bin/bwrap --info-fd 8 --userns-block-fd 9 --setenv X ${mark} "$` +
        '{args[@]}"\n',
      { mode: 0o755 },
    );
    const left = () =>
      execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
        .split('\n')
        .filter((line) => line.includes(mark));
    const env = { ...process.env, PATH: `${outside}:/usr/bin:/bin` };
    const supervisor = spawn(process.execPath, [join(import.meta.dirname, 'once.ts'), workspace, 'on', 'true'], { stdio: 'ignore', env });
    await expect.poll(() => left().length, { timeout: 60_000 }).toBe(2);
    supervisor.kill('SIGKILL');
    await expect.poll(left).toEqual([]);
  });
});
