// External agents in the library: their folder is an option, and nothing is left in it.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createRetinue } from '../../src/main/library.ts';
import { fakeAgent } from '../externals/support.ts';

it('are carried out in the folder that the program names', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-test-'));
  const externalsFolder = join(folder, 'externals');
  const script = { turns: [[{ report: `ls ${externalsFolder} | wc -l` }, { say: 'Done.' }]] };
  const runs = { acp: [fakeAgent, JSON.stringify(script)], login: 'own' as const };
  const agents = [{ name: 'fake', description: 'a fake', prompt: 'You are a fake.', tools: [], runs }];
  await using retinue = createRetinue({ model: 'script/none', agents, workspace: folder, sandbox: 'off', externalsFolder });
  const run = await retinue.delegate({ task: 'go', agent: 'fake' });
  const outcome = await run.outcome;
  expect(outcome).toMatchObject({ status: 'completed', summary: '1\nDone.' });
  expect(outcome.notices).toEqual([
    expect.stringContaining('no budget stops a model call'),
    expect.stringContaining('rules apply only to calls that it asks about'),
    expect.stringContaining('there is no sandbox'),
  ]);
  expect(existsSync(externalsFolder) && readdirSync(externalsFolder)).toEqual([]);
  rmSync(folder, { recursive: true });
});

it('need an absolute path', () => {
  expect(() => createRetinue({ model: 'script/none', externalsFolder: 'here' })).toThrow('`externalsFolder`: must be an absolute path');
});
