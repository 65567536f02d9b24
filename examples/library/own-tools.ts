// Your own tools, and a database that other processes can read.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tool } from 'ai';
import { createRetinue } from 'retinue';
import { openSqliteStore } from 'retinue/sqlite';
import { scriptedModel } from 'retinue/testing';
import { z } from 'zod';

const searchDocs = tool({
  description: 'Searches the documentation',
  inputSchema: z.object({ query: z.string() }),
  execute: async ({ query }) => `nothing about ${query}`,
});
const model = scriptedModel({
  runs: [{ steps: [{ calls: [{ tool: 'searchDocs', args: { query: 'slots' } }] }, { text: 'There is nothing about it.' }] }],
});
const store = await openSqliteStore({ path: join(mkdtempSync(join(tmpdir(), 'retinue-example-')), 'runs.db') });
const helper = { name: 'librarian', description: 'Looks things up', prompt: 'You look things up.', tools: ['searchDocs'] };

await using retinue = createRetinue({ model, tools: { searchDocs }, agents: [helper], store, limits: { maxTurns: 5 } });
const run = await retinue.delegate({ task: 'What do the docs say about slots?', agent: 'librarian' });
console.log((await run.outcome).summary);
console.log((await retinue.api.ps({ all: true })).map((row) => `${row.agent} ${row.status}`).join());
