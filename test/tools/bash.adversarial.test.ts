// Commands that do not end when asked, and processes that outlive them.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createBash } from '../../src/tools/bash.ts';
import { watchEventLoop } from '../support/cpu-time.ts';
import { call, makeWorkspace } from './support.ts';

const bash = createBash({ sandbox: null });

/** A unique number for `sleep`, by which its processes are found. */
const nap = (): string => String(1000 + Math.random()).slice(0, 16);

function sleepers(seconds: string): string[] {
  const text = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
  return text.split('\n').filter((line) => line.trim() === `sleep ${seconds}`);
}

/** For a command: waits until its last background process has become `sleep`. */
const untilAsleep = 'until [ "$(cat /proc/$!/comm)" = sleep ]; do sleep 0.01; done';

/**
 * `ms`: how much time passed for this process since the command made the file `mark`, or since the start if it did not. What a command needs to start on a
 * busy machine does not count. `onMark` is called when the file exists.
 */
async function timed(command: string, input: object = {}, onMark: (controller: AbortController) => void = () => {}) {
  const controller = new AbortController();
  const { workspace } = makeWorkspace();
  const mark = join(workspace, 'mark');
  const stops = [watchEventLoop()];
  const look = setInterval(() => {
    if (!existsSync(mark)) return;
    clearInterval(look);
    stops.push(watchEventLoop());
    onMark(controller);
  }, 5);
  const result = await call(bash, workspace, { command, ...input }, { signal: controller.signal });
  clearInterval(look);
  const ms = stops.map((stop) => stop().passedMs).at(-1) as number;
  return { ...result, ms, isMarked: existsSync(mark) };
}

/**
 * On a busy machine a command may need longer to start than the first timeout: then it gets more time. `lateMs`: how much time passed for this process
 * between the timeout and the end; `endedMs`: the same on the clock.
 */
async function runOutOfTime(command: string) {
  for (const timeout of [0.3, 3, 30]) {
    const started = performance.now();
    const stop = watchEventLoop();
    const result = await timed(command, { timeout });
    if (result.isMarked)
      return { ...result, timeout, lateMs: stop().passedMs - timeout * 1000, endedMs: performance.now() - started - timeout * 1000 };
    stop();
  }
  throw new Error('the command did not begin within 30 s');
}

describe('after the command has ended', () => {
  test('a background process that keeps the pipe open does not delay the result and is ended', async () => {
    const seconds = nap();
    const { output, isError, ms } = await timed(`sleep ${seconds} & ${untilAsleep}; echo done; : > mark`);
    expect(output).toMatch(/^done\n\[ended what it left running: sleep \(\d+\)\]$/);
    expect(isError).toBeUndefined();
    expect(ms).toBeLessThan(2000);
    expect(sleepers(seconds)).toEqual([]);
  });

  test.each([
    { name: 'in a group of its own', command: (s: string) => `setsid sleep ${s} & echo done` },
    { name: 'forked twice, with nothing open', command: (s: string) => `(setsid sleep ${s} >/dev/null 2>&1 </dev/null &) ; echo done` },
    { name: 'nohup', command: (s: string) => `nohup sleep ${s} >/dev/null 2>&1 & disown; echo done` },
    { name: 'that ignores being asked', command: (s: string) => `bash -c 'trap "" TERM; exec sleep ${s}' & ${untilAsleep}; echo done` },
    { name: 'a hundred of them', command: (s: string) => `for i in $(seq 100); do sleep ${s} & done; echo done` },
  ])('a process $name is ended', async ({ command }) => {
    const seconds = nap();
    const { output, ms } = await timed(`${command(seconds)}; : > mark`);
    expect(output).toMatch(/^done\n\[ended what it left running: /);
    expect(ms).toBeLessThan(3500);
    expect(sleepers(seconds)).toEqual([]);
  });

  test('a process without its mark that keeps the pipe open delays the result only briefly, and is ended', async () => {
    const { output, ms } = await timed(`env -i setsid sleep 30 & ${untilAsleep}; echo done; : > mark`);
    expect(output).toMatch(/^done\n\[ended what it left running: sleep \(\d+\)\]$/);
    expect(ms).toBeLessThan(2500);
  });

  test('output of a process that keeps writing is read for a while', async () => {
    const { output, ms } = await timed(
      "env -i setsid bash -c ': > begun; for i in $(seq 600); do echo $i; sleep 0.1; done' & until [ -e begun ]; do sleep 0.01; done; echo done; : > mark",
    );
    expect(output).toContain('done');
    expect(ms).toBeLessThan(3500);
  });

  test('a reader at the end of a pipe may finish', async () => {
    expect((await timed('echo text > >(sleep 0.05; cat; echo read)')).output).toBe('text\nread');
  });
});

describe('out of time', () => {
  test('all processes are stopped and the output so far is kept', async () => {
    const seconds = nap();
    const { output, isError, timeout, lateMs } = await runOutOfTime(`echo start; sleep ${seconds} & : > mark; sleep ${seconds}`);
    expect(output).toBe(`start\n[stopped: it took longer than ${timeout} s]`);
    expect(isError).toBe(true);
    expect(lateMs).toBeLessThan(1200);
    expect(sleepers(seconds)).toEqual([]);
  });

  test('a command is asked to stop first and may clean up', async () => {
    const { output, timeout } = await runOutOfTime('trap "echo cleaned; exit" TERM; echo start; : > mark; while :; do sleep 0.05; done');
    // bash itself may report that its `sleep` was terminated.
    expect(output.replace('Terminated\n', '')).toBe(`start\ncleaned\n[stopped: it took longer than ${timeout} s]`);
  });

  test('a command that ignores the request is killed after 2 s', async () => {
    const seconds = nap();
    const { output, lateMs, endedMs } = await runOutOfTime(
      `trap "" TERM; echo start; sleep ${seconds} & : > mark; while :; do sleep 0.1; done`,
    );
    expect(output).toMatch(/^start\n\[stopped/);
    expect(endedMs).toBeGreaterThan(2000);
    expect(lateMs).toBeLessThan(3000);
    expect(sleepers(seconds)).toEqual([]);
  });
});

describe('told to stop', () => {
  test.each([
    { name: 'a plain one', command: (s: string) => `echo start; : > mark; sleep ${s}` },
    { name: 'one that left its group', command: (s: string) => `echo start; setsid sleep ${s} & ${untilAsleep}; : > mark; sleep ${s}` },
    {
      name: 'one that is stopped',
      command: (s: string) =>
        `echo start; sleep ${s} & (until grep -q '^State:.T' /proc/$$/status; do sleep 0.01; done; : > mark) & kill -STOP $$`,
    },
    {
      name: 'one that ignores it',
      command: (s: string) => `trap "" TERM INT HUP; echo start; sleep ${s} & : > mark; sleep ${s}; sleep ${s}`,
    },
  ])('$name: ended and reported within 3 s, which is how long the kernel waits', async ({ command }) => {
    const seconds = nap();
    const { output, isError, ms } = await timed(command(seconds), {}, (controller) => controller.abort(new Error('enough')));
    expect(output).toMatch(/^start\n\[stopped before it was done\]/);
    expect(isError).toBe(true);
    expect(ms).toBeLessThan(2900);
    expect(sleepers(seconds)).toEqual([]);
  });

  test('an abort before the start starts nothing', async () => {
    const { workspace } = makeWorkspace();
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(call(bash, workspace, { command: 'echo x > f' }, { signal })).rejects.toThrow('enough');
    expect(readdirSync(workspace)).toEqual([]);
  });
});

describe('much output', () => {
  test('200 MB, both outputs mixed: head and tail are kept, memory stays small', { timeout: 60_000 }, async () => {
    const before = process.memoryUsage.rss();
    let most = before;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage.rss());
    }, 5);
    const { output } = await timed('echo first; (yes out | head -c 100000000) & (yes errr | head -c 100000000 >&2) & wait; echo last');
    clearInterval(watch);
    expect(most - before).toBeLessThan(64 * 1024 * 1024);
    expect(output).toMatch(/^first\n/);
    expect(output).toMatch(/last$/);
    expect(output).toMatch(/\n\[… \d+ of 200000011 bytes left out …\]\n/);
    expect(output.length).toBeLessThan(2.2 * 1024 * 1024);
  });

  test('a character is never split', async () => {
    for (const pad of ['', 'x', 'xx', 'xxx']) {
      const { output } = await timed(`printf '${pad}'; yes 😀€é | tr -d '\\n' | head -c 5000000`);
      // Only `head` itself splits one.
      expect(output.replace(/\ufffd+$/, '')).not.toContain('\ufffd');
    }
  });

  test('endless output is read until the timeout', async () => {
    const { output, ms } = await timed('yes', { timeout: 0.5 });
    expect(output).toMatch(/\[stopped: it took longer than 0.5 s\]$/);
    expect(ms).toBeLessThan(2500);
  });

  test('thousands of single bytes are collected', async () => {
    const { output } = await timed('for i in $(seq 20000); do printf x; done');
    expect(output).toBe('x'.repeat(20_000));
  });
});

test('a clear result when the system has no resources for another process', async () => {
  const { workspace } = makeWorkspace();
  const script = `
    const { openSync } = await import('node:fs');
    const { createBash } = await import(${JSON.stringify(join(import.meta.dirname, '../../src/tools/bash.ts'))});
    const bash = createBash({ sandbox: null });
    const rights = { agent: 'general', definition: null, tools: [], decide: () => ({ action: 'allow', owner: 'test', rule: null }), closedPaths: { read: [], write: [] } };
    const context = { workspace: process.argv[1], signal: new AbortController().signal, memo: new Map(), rights };
    const first = await bash.execute({ command: 'echo ok' }, context);
    try { for (;;) openSync('/dev/null', 'r'); } catch {}
    const second = await bash.execute({ command: 'echo ok' }, context);
    process.stdout.write(JSON.stringify([first, second]));
  `;
  const output = execFileSync(
    'bash',
    ['-c', 'ulimit -n 64; exec "$0" "$@"', process.execPath, '--input-type=module', '-e', script, workspace],
    { encoding: 'utf8' },
  );
  const [first, second] = JSON.parse(output) as { output: string; isError?: boolean }[];
  expect(first).toEqual({ output: 'ok' });
  expect(second).toMatchObject({ isError: true, output: expect.stringMatching(/not started: .*(EMFILE|room)/) });
});
