// Runs one command in a process of its own: `once.ts WORKSPACE on|off COMMAND`.

import { findSandbox } from '../../src/sandboxes/find-sandbox.ts';
import { createBash } from '../../src/tools/bash.ts';

const [, , workspace = '', mode, command = ''] = process.argv;
const found = await findSandbox({ env: process.env, secret: [], workspace });
if (!found.ok) throw new Error(found.reason);
const decide = (name: string) => ({ action: name === 'git' ? 'deny' : 'allow', owner: 'test', rule: null }) as const;
const result = await createBash({ sandbox: mode === 'on' ? found.sandbox : null }).execute(
  { command },
  {
    ...{ runId: '0'.repeat(16), rootId: '0'.repeat(16), workspace, signal: new AbortController().signal, memo: new Map() },
    rights: { agent: 'a', definition: null, tools: ['write'], decide, closedPaths: { read: [], write: [] } },
    delegation: null as never,
    confirmTarget: async () => {},
  },
);
process.stdout.write(`${result.output}\n${result.isError ? '[an error]\n' : ''}`);
