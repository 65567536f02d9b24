import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { read } from '../../src/tools/read.ts';
import { startCpuTimer, watchEventLoop } from '../support/cpu-time.ts';
import { call, makeWorkspace } from './support.ts';

const numbered = (count: number): string => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('');

describe('text', () => {
  test.each([
    { name: 'lines with numbers', content: 'a\nb\n', input: {}, output: '     1\ta\n     2\tb' },
    { name: 'a last line without a line break', content: 'a\nb', input: {}, output: '     1\ta\n     2\tb' },
    { name: 'empty lines', content: '\n\nx\n', input: {}, output: '     1\t\n     2\t\n     3\tx' },
    { name: 'an empty file', content: '', input: {}, output: '[empty file]' },
    { name: 'from an offset to the end', content: 'a\nb\nc', input: { offset: 3 }, output: '     3\tc' },
    { name: 'exactly to the end', content: 'a\nb\n', input: { limit: 2 }, output: '     1\ta\n     2\tb' },
    {
      name: 'a part of it',
      content: numbered(9),
      input: { offset: 4, limit: 2 },
      output: '     4\tline 4\n     5\tline 5\n[lines 4 to 5 of a file of 63 bytes; continue with offset 6]',
    },
    { name: 'an offset past the end', content: 'a\nb\n', input: { offset: 3 }, output: 'f has 2 lines; there is no line 3', isError: true },
    {
      name: 'an offset past an open last line',
      content: 'a',
      input: { offset: 2 },
      output: 'f has 1 line; there is no line 2',
      isError: true,
    },
    { name: 'invalid UTF-8', content: Buffer.from([0x61, 0xff, 0xc3, 0x0a]), input: {}, output: '     1\ta\ufffd\ufffd' },
    { name: 'a carriage return', content: 'a\r\nb', input: {}, output: '     1\ta\r\n     2\tb' },
  ])('$name', async ({ content, input, output, isError }) => {
    const { workspace } = makeWorkspace();
    writeFileSync(join(workspace, 'f'), content);
    const result = await call(read, workspace, { path: 'f', ...input });
    expect(result).toEqual({ output, ...(isError && { isError }) });
  });

  test('shows 2000 lines by default and where to continue', async () => {
    const { workspace } = makeWorkspace();
    writeFileSync(join(workspace, 'f'), numbered(2001));
    const { output } = await call(read, workspace, { path: 'f' });
    expect(output.split('\n')).toHaveLength(2001);
    expect(output).toMatch(/continue with offset 2001\]$/);
    const rest = await call(read, workspace, { path: 'f', offset: 2001 });
    expect(rest.output).toBe('  2001\tline 2001');
  });

  test('long lines are cut without splitting a character', async () => {
    const { workspace } = makeWorkspace();
    writeFileSync(join(workspace, 'f'), `x${'😀'.repeat(5000)}\nshort`);
    const { output } = await call(read, workspace, { path: 'f' });
    const [first, second] = output.split('\n');
    expect(first).toBe(`     1\tx${'😀'.repeat(999)} … [line cut: 20001 bytes]`);
    expect(first?.isWellFormed()).toBe(true);
    expect(second).toBe('     2\tshort');
  });

  test('a line of exactly 2000 characters of three bytes is not cut', async () => {
    const { workspace } = makeWorkspace();
    writeFileSync(join(workspace, 'f'), `${'€'.repeat(2000)}\n${'€'.repeat(2001)}`);
    const { output } = await call(read, workspace, { path: 'f' });
    const [first, second] = output.split('\n');
    expect(first).toBe(`     1\t${'€'.repeat(2000)}`);
    expect(second).toBe(`     2\t${'€'.repeat(2000)} … [line cut: 6003 bytes]`);
  });

  test('the result stays under the cap of the tool, cut at a line', async () => {
    const { workspace } = makeWorkspace();
    writeFileSync(join(workspace, 'f'), `${'y'.repeat(1900)}\n`.repeat(500));
    const { output } = await call(read, workspace, { path: 'f' });
    expect(Buffer.byteLength(output)).toBeLessThan(read.maxOutputBytes ?? 0);
    expect(output).toMatch(/\[lines 1 to 51 of a file of 950500 bytes; continue with offset 52\]$/);
  });

  test('lines across slices', async () => {
    const { workspace } = makeWorkspace();
    writeFileSync(join(workspace, 'f'), `${'a'.repeat(262_143)}\n${'b'.repeat(262_144)}\nend`);
    const { output } = await call(read, workspace, { path: 'f' });
    expect(output.split('\n')[2]).toBe('     3\tend');
    expect((await call(read, workspace, { path: 'f', offset: 3 })).output).toBe('     3\tend');
  });
});

describe('files that are not text', () => {
  test.each(['pipe', 'socket', 'directory', 'binary', 'missing'])('%s: a clear result at once', async (kind) => {
    const { workspace } = makeWorkspace();
    const path = join(workspace, kind);
    if (kind === 'pipe') execFileSync('mkfifo', [path]);
    if (kind === 'directory') mkdirSync(path);
    if (kind === 'binary') writeFileSync(path, Buffer.from('ab\0c'));
    if (kind === 'socket') {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(path, resolve));
      onTestFinished(() => void server.close());
    }
    const stop = watchEventLoop();
    const result = await call(read, workspace, { path: kind });
    expect(stop().passedMs).toBeLessThan(1000);
    expect(result.isError).toBe(true);
    expect(result.output).toBe(
      {
        pipe: 'pipe is a named pipe, not a file',
        socket: 'socket is a socket or a device, not a file',
        directory: 'directory is a directory; use list to see its entries',
        binary: 'binary is a binary file of 4 bytes; read shows only text',
        missing: 'missing does not exist',
      }[kind],
    );
  });

  test('a link to /dev/zero leads out, and a device inside is refused', async () => {
    const { workspace } = makeWorkspace();
    symlinkSync('/dev/zero', join(workspace, 'link'));
    expect((await call(read, workspace, { path: 'link' })).output).toBe('link leads out of the workspace through a link');
    if (process.getuid?.() !== 0) return;
    execFileSync('mknod', [join(workspace, 'zero'), 'c', '1', '5']);
    expect((await call(read, workspace, { path: 'zero' })).output).toBe('zero is a device, not a file');
  });
});

describe('size', () => {
  test.each([
    { name: 'zeros only', head: '', input: {}, output: /binary/ },
    {
      name: 'text first, then one endless line',
      head: `${'text\n'.repeat(2000)}x`,
      input: { offset: 2001 },
      output: /^ {2}2001\tx\ufffd+ … \[line cut: \d+ bytes\]\n\[.*stopped after 67108864 bytes\]$/,
    },
    {
      name: 'a line that is never reached',
      head: 'text\n'.repeat(2000),
      input: { offset: 5000 },
      output: /line 5000 of f is past the first 67108864 bytes/,
    },
  ])('a sparse file of 10 GB, $name: result within a second with little memory', async ({ head, input, output }) => {
    const { workspace } = makeWorkspace();
    writeFileSync(join(workspace, 'f'), head);
    truncateSync(join(workspace, 'f'), 10_000_000_000);
    const [computedMs, memory] = [startCpuTimer(), process.memoryUsage.rss()];
    const result = await call(read, workspace, { path: 'f', ...input });
    expect(computedMs()).toBeLessThan(1000);
    expect(process.memoryUsage.rss() - memory).toBeLessThan(32 * 1024 * 1024);
    expect(result.output).toMatch(output);
  });

  test('millions of short lines are skipped in a second', async () => {
    const { workspace } = makeWorkspace();
    writeFileSync(join(workspace, 'f'), Buffer.alloc(70_000_000, '\n'));
    const computedMs = startCpuTimer();
    const result = await call(read, workspace, { path: 'f', offset: 67_000_000, limit: 1 });
    expect(computedMs()).toBeLessThan(1000);
    expect(result.output).toMatch(/^67000000\t\n\[lines 67000000 to 67000000/);
  });
});

test('stops when it is aborted', async () => {
  const { workspace } = makeWorkspace();
  writeFileSync(join(workspace, 'f'), Buffer.alloc(60_000_000, '\n'));
  const controller = new AbortController();
  const reading = call(read, workspace, { path: 'f', offset: 59_999_999 }, { signal: controller.signal });
  setTimeout(() => controller.abort(new Error('enough')), 5);
  await expect(reading).rejects.toThrow('enough');
});

test.each([{ path: '' }, {}, { path: 'f', offset: 0 }, { path: 'f', limit: 0 }, { path: 'f', more: 1 }])('refuses %j', (input) => {
  expect(read.input.safeParse(input).success).toBe(false);
});
