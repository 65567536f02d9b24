// A program that dies in the middle of a run, and continues it when it is started again. It starts itself as the process that dies.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tool } from 'ai';
import { createRetinue } from 'retinue';
import { openSqliteStore } from 'retinue/sqlite';
import { scriptedModel } from 'retinue/testing';
import { z } from 'zod';

const [, program = '', folder = mkdtempSync(join(tmpdir(), 'retinue-example-'))] = process.argv;
const isFirst = process.argv.length > 2;
if (!isFirst) spawnSync(process.execPath, [program, folder]);

const publish = tool({
  description: 'Publishes the report',
  inputSchema: z.object({}),
  execute: async () => (isFirst ? process.kill(process.pid, 'SIGKILL') : 'published'),
});
const calls = [{ tool: 'publish', args: {} }];
const model = scriptedModel({
  runs: [{ steps: [{ calls }, { expect: { prompt: 'not known whether' }, text: 'I have to check whether it is published.' }] }],
});

{
  await using retinue = createRetinue({ model, tools: { publish }, store: await openSqliteStore({ path: join(folder, 'runs.db') }) });
  if (isFirst) await (await retinue.delegate({ task: 'Publish the report' })).outcome;
  for (const { rootId } of await retinue.api.interrupted()) {
    const [run] = await retinue.api.resume(rootId);
    console.log((await run?.outcome)?.summary);
  }
}
rmSync(folder, { recursive: true });
