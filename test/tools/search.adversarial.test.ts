// Patterns and trees designed to be slow: a result within a second or a clear refusal, with little memory.
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { AnyTool } from '../../src/ports/tool.ts';
import { glob } from '../../src/tools/glob.ts';
import { grep } from '../../src/tools/grep.ts';
import { list } from '../../src/tools/list.ts';
import { watchEventLoop } from '../support/cpu-time.ts';
import { call, makeWorkspace } from './support.ts';

async function timed(tool: AnyTool, workspace: string, input: object): Promise<string> {
  const memory = process.memoryUsage.rss();
  const stop = watchEventLoop();
  const { output } = await call(tool, workspace, input);
  const { passedMs, longestTurnMs } = stop();
  // One second is promised; half a second more is allowed for a busy machine.
  expect(passedMs).toBeLessThan(1500);
  expect(longestTurnMs).toBeLessThan(500);
  expect(process.memoryUsage.rss() - memory).toBeLessThan(64 * 1024 * 1024);
  return output;
}

const globs = {
  stars: `${'*'.repeat(500)}X`,
  'stars apart': `${'*a'.repeat(400)}X`,
  'double stars': `${'**/'.repeat(300)}X`,
  'brace pairs': '{a,b}'.repeat(30),
  'many brace pairs': '{a,b}'.repeat(190),
  'nested braces': `${'{a,'.repeat(200)}b${'}'.repeat(200)}`,
  'unclosed braces': '{'.repeat(900),
  extended: '*(*(*(*(a|b))))',
  classes: '[a-z]'.repeat(190),
  'braces with stars': '{*,**,*a*}'.repeat(90),
};

describe('glob bombs', () => {
  test.each(Object.entries(globs))('%s', async (_, pattern) => {
    const { workspace } = makeWorkspace();
    for (let n = 0; n < 50; n++) writeFileSync(join(workspace, `${'a'.repeat(100 + n)}`), 'a');
    expect(await timed(glob, workspace, { pattern })).toBeTypeOf('string');
    expect(await timed(grep, workspace, { pattern: 'a', glob: pattern })).toBeTypeOf('string');
  });

  test('a pattern longer than 1000 characters is refused', () => {
    expect(glob.input.safeParse({ pattern: '*'.repeat(1001) }).success).toBe(false);
  });
});

describe('regex bombs', () => {
  test.each([
    '(a+)+$',
    '(a*)*b',
    '(a|aa)+$',
    '((a{1,1000}){1,1000}){1,1000}',
    `${'(a?)'.repeat(400)}${'a'.repeat(300)}`,
    '(x+x+)+y',
    '.*.*.*.*=.*',
  ])('%#', async (pattern) => {
    const { workspace } = makeWorkspace();
    writeFileSync(join(workspace, 'f'), `${'a'.repeat(100_000)}!\n${'x'.repeat(100_000)}\n`);
    expect(await timed(grep, workspace, { pattern })).toBeTypeOf('string');
  });
});

describe('trees', () => {
  test('pipes, circular links and sparse files do not stop the search', async () => {
    const { workspace } = makeWorkspace();
    execFileSync('mkfifo', [join(workspace, 'pipe')]);
    symlinkSync('.', join(workspace, 'loop'));
    symlinkSync('circle', join(workspace, 'circle'));
    symlinkSync('/dev/zero', join(workspace, 'zero'));
    writeFileSync(join(workspace, 'sparse'), 'needle');
    truncateSync(join(workspace, 'sparse'), 10_000_000_000);
    writeFileSync(join(workspace, 'line'), `needle${'x'.repeat(20_000_000)}`);
    expect(await timed(grep, workspace, { pattern: 'needle' })).toMatch(/^line:1:needle/);
    expect(await timed(glob, workspace, { pattern: '**' })).toBe('line\nsparse');
  });

  test('a pipe instead of .gitignore ends the search after a second, not the process', async () => {
    const { workspace } = makeWorkspace();
    writeFileSync(join(workspace, 'a'), 'needle');
    execFileSync('mkfifo', [join(workspace, '.gitignore')]);
    expect(await timed(glob, workspace, { pattern: '*' })).toBeTypeOf('string');
    expect(await timed(grep, workspace, { pattern: 'needle' })).toBeTypeOf('string');
  });

  test('very deep', async () => {
    const { workspace } = makeWorkspace();
    mkdirSync(join(workspace, 'd/'.repeat(500)), { recursive: true });
    writeFileSync(join(workspace, 'd/'.repeat(500), 'end'), 'needle');
    // A tool stops after a second, which a busy machine may need for something else. The next attempt finds it.
    await expect.poll(() => timed(glob, workspace, { pattern: '**/end' })).toMatch(/end$/);
    await expect.poll(() => timed(grep, workspace, { pattern: 'needle' })).toMatch(/end:1:needle$/);
  });

  // Set RETINUE_TEST_FILES=1000000 for a million files, which take 20 s to create.
  const count = Number(process.env.RETINUE_TEST_FILES ?? 30_000);
  test(`${count} files`, { timeout: 300_000 }, async () => {
    const { workspace } = makeWorkspace();
    for (let d = 0; d < 100; d++) {
      mkdirSync(join(workspace, `d${d}`));
      for (let f = 0; f < count / 100; f++) writeFileSync(join(workspace, `d${d}/f${f}`), '');
    }
    expect(await timed(glob, workspace, { pattern: '**' })).toMatch(/\[(the first 1000 of|stopped after)/);
    expect(await timed(glob, workspace, { pattern: '**/f1' })).toMatch(/f1\n/);
    expect(await timed(grep, workspace, { pattern: 'needle' })).toMatch(/no line matches|stopped after/);
    expect(await timed(list, workspace, { path: 'd0' })).toMatch(/f0/);
  });
});
