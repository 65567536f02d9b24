// A flow in a program: its steps are recorded, and a later process can continue it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scriptedModel } from 'retinue/testing';

const folder = mkdtempSync(join(tmpdir(), 'retinue-example-'));
const path = join(folder, 'runs.db');
const model = scriptedModel({ runs: [{ times: 'any', steps: [{ text: 'A folder with source files.' }] }] });

// docs ↓
import { createRetinue } from 'retinue';
import { defineFlow } from 'retinue/flow';
import { openSqliteStore } from 'retinue/sqlite';

const survey = defineFlow<{ folders: string[] }, string[]>('survey', null, async (flow, { folders }) => {
  const outcomes = await flow.map(folders, (folder) => flow.delegate({ task: `Describe ${folder} in one line.` }));
  return outcomes.map(({ summary }) => summary);
});

const retinue = createRetinue({ model, store: await openSqliteStore({ path }), flows: [survey] });
const run = await retinue.flow(survey, { folders: ['src', 'test'] }, { limits: { maxTokens: 500_000 } });
console.log((await run.outcome).data);
await retinue.close();
// docs ↑

rmSync(folder, { recursive: true });
