import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readWorkspaceFile } from '../../src/tools/files/workspace-reader.ts';
import { makeWorkspace } from './support.ts';

test.each([
  { content: 'short', maxChars: 10, text: 'short', truncated: false },
  { content: '0123456789', maxChars: 10, text: '0123456789', truncated: false },
  { content: '0123456789a', maxChars: 10, text: '0123456789', truncated: true },
  { content: '€'.repeat(11), maxChars: 10, text: '€'.repeat(10), truncated: true },
  { content: '😀😀', maxChars: 3, text: '😀', truncated: true },
  { content: '😀😀', maxChars: 4, text: '😀😀', truncated: false },
  { content: Buffer.from([0x61, 0xff]), maxChars: 5, text: 'a\ufffd', truncated: false },
  { content: '', maxChars: 5, text: '', truncated: false },
])('$maxChars characters of $content', async ({ content, maxChars, text, truncated }) => {
  const { workspace } = makeWorkspace();
  writeFileSync(join(workspace, 'f'), content);
  expect(await readWorkspaceFile(workspace, 'f', maxChars)).toEqual({ ok: true, text, truncated, subjects: ['f'] });
});

test('failures are returned, not thrown', async () => {
  const { workspace, outside } = makeWorkspace();
  mkdirSync(join(workspace, 'd'));
  writeFileSync(join(workspace, 'b'), 'a\0b');
  execFileSync('mkfifo', [join(workspace, 'pipe')]);
  for (const path of ['none', 'd', 'b', 'pipe', '../x', outside, '.retinue/x', 'x\0', '']) {
    expect(await readWorkspaceFile(workspace, path, 100), path).toMatchObject({ ok: false, reason: expect.any(String) });
  }
  expect(await readWorkspaceFile(join(workspace, 'gone'), 'x', 100)).toMatchObject({ ok: false });
});
