// `retinue/client` as it is published: one file for Node and browsers.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

it('loads nothing else: no module of Node, no schema library, no other part of Retinue', () => {
  const code = readFileSync(join(root, 'dist/client.js'), 'utf8');
  expect(code.match(/^import\b.*|\bimport\(|\brequire\(|\bprocess\.|\bBuffer\b/gm)).toBeNull();
});

it('has the client and its errors', async () => {
  const exported = await import(join(root, 'dist/client.js'));
  expect(Object.keys(exported).sort()).toEqual(['RemoteError', 'createClient', 'isRemoteError']);
});
