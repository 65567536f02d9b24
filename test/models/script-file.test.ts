import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createModels } from '../../src/models/models.ts';
import { createScriptModels } from '../../src/models/script.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { models, say, steps, userOf } from './support.ts';

test.each([
  { script: '{"runs" []}', message: /^\/w\/s\.json is not valid JSON \(line 1 column 9\)$/ },
  { script: 'root:x:0:0:secret', message: /^\/w\/s\.json is not valid JSON$/ },
  { script: {}, message: /^\/w\/s\.json: runs: / },
  { script: { runs: [] }, message: /^\/w\/s\.json: runs: / },
  {
    script: { runs: [{ steps: [{}, { txet: 'x' }] }] },
    message: /^\/w\/s\.json: runs\[0\]\.steps\[1\]: has an unknown key; the keys here are expect, text, /,
  },
  {
    script: steps({ calls: [{ tool: 'x', args: {}, raw: '' }] }),
    message: /: runs\[0\]\.steps\[0\]\.calls\[0\]: must have `args` or `raw`, not both$/,
  },
  { script: steps({ delayMs: 2 ** 31 }), message: /^\/w\/s\.json: runs\[0\]\.steps\[0\]\.delayMs: / },
  { script: { runs: [{ times: 0, steps: [] }] }, message: /^\/w\/s\.json: runs\[0\]\.times: / },
])('rejects a file that is no script: $message', async ({ script, message }) => {
  const thrown = await models(script)().catch((error) => error);
  expect(thrown).toMatchObject({ code: 'invalid_config', message: expect.stringMatching(message) });
  expect(thrown.message).not.toContain('secret');
});

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-script-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('files on disk: relative to the workspace, or absolute', async () => {
  const workspace = makeFolder();
  writeFileSync(join(workspace, 's.json'), JSON.stringify({ runs: [{ times: 'any', steps: [{ text: 'from disk' }] }] }));
  const found = createModels({ providers: { script: createScriptModels({ clock: createHandClock() }) } });
  for (const [index, name] of ['script/s.json', `script/${join(workspace, 's.json')}`].entries()) {
    const handle = await found.resolve(name, userOf({ workspace, runId: `000000000000000${index}` }));
    expect(handle.id).toBe(name);
    expect(await say(handle)).toBe('from disk');
  }
});

test.each([
  { name: 'script/none.json', message: /^the script .*\/none\.json cannot be read: it does not exist$/ },
  { name: 'script/.', message: /it is not a file$/ },
  { name: 'script//dev/zero', message: /it is not a file$/ },
  { name: 'scrpit/x', message: /^unknown model "scrpit\/x": there is no provider "scrpit" \(available: script\/…\)$/ },
  { name: 'script', message: /^unknown model "script": the name of the model is missing \(available: script\/…\)$/ },
  { name: 'script/', message: /there is no provider/ },
  { name: 'toString/x', message: /there is no provider "toString"/ },
  { name: '', message: /there is no provider ""/ },
])('rejects the name $name', async ({ name, message }) => {
  const found = createModels({ providers: { script: createScriptModels({ clock: createHandClock() }) } });
  await expect(found.resolve(name, userOf({ workspace: makeFolder() }))).rejects.toMatchObject({
    code: 'unknown_model',
    message: expect.stringMatching(message),
  });
});

test('reads a file again after a failure', async () => {
  const texts = ['broken', JSON.stringify(steps({ text: 'mended' }))];
  const provider = createScriptModels({ clock: createHandClock(), readFile: async () => texts.shift() ?? '' });
  await expect(provider('s.json', userOf())).rejects.toThrow('not valid JSON');
  expect(await say(await provider('s.json', userOf()))).toBe('mended');
});
