// Shell commands in the library run in a sandbox if one is available.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRetinue, type RetinueOptions } from '../../src/main/index.ts';
import { scriptedModel } from '../../src/main/testing.ts';

const command = 'ls -d /proc/[0-9]* 2>/dev/null | wc -l; test -e ~/.. && echo here';
const model = () => scriptedModel({ runs: [{ times: 'any', steps: [{ calls: [{ tool: 'bash', args: { command } }] }, { text: 'x' }] }] });

async function bashOutput(options: Partial<RetinueOptions>): Promise<string> {
  const workspace = mkdtempSync(join(tmpdir(), 'retinue-library-'));
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }));
  await using retinue = createRetinue({ model: model(), workspace, ...options });
  const run = await retinue.delegate({ task: 'work' });
  for await (const event of run.events()) if (event.type === 'tool.finished') return event.data.output;
  return '';
}

describe.runIf(process.platform === 'linux')('the sandbox', () => {
  it('is used by default and if required', async () => {
    for (const options of [{}, { sandbox: 'required' as const }])
      expect(Number((await bashOutput(options)).split('\n')[0])).toBeLessThan(8);
  });

  it('if switched off, leaves shell commands to the rules', async () => {
    expect(await bashOutput({ sandbox: 'off' })).toContain('ask bash');
    expect(Number((await bashOutput({ sandbox: 'off', rules: ['allow bash'] })).split('\n')[0])).toBeGreaterThan(8);
  });
});

it('a program’s tool cannot have the name of a shell capability', () => {
  const tools = { network: { description: 'x', inputSchema: { type: 'object' }, execute: async () => '' } } as never;
  expect(() => createRetinue({ model: model(), tools })).toThrow(/cannot be called `network`/);
});
