// Runs commands in a real sandbox. On Linux these tests fail if there is none.

import type { Sandbox } from '../../src/ports/sandbox.ts';
import type { Rights } from '../../src/ports/tool.ts';
import { collectClosedPaths } from '../../src/rules/path-rules.ts';
import { parseRule } from '../../src/rules/policy.ts';
import { type BubblewrapOptions, findBubblewrap } from '../../src/sandboxes/bubblewrap.ts';
import { type BashOptions, createBash } from '../../src/tools/bash.ts';
import { call } from '../tools/support.ts';

export const onLinux = process.platform === 'linux';

export async function realSandbox(options: Partial<BubblewrapOptions> = {}): Promise<Sandbox> {
  const found = await findBubblewrap({ env: process.env, secret: [], workspace: '/nowhere', ...options });
  if (!found.ok) throw new Error(`no sandbox: ${found.reason}; ${found.advice}`);
  return found.sandbox;
}

export interface As {
  tools?: string[];
  /** `network` and `git`, if allowed. */
  may?: string[];
  agent?: string;
  /** Rules about paths. */
  rules?: string[];
}

export function rightsOf({ tools = ['write', 'bash'], may = [], agent = 'general', rules = [] }: As = {}): Rights {
  const allowed = new Set([...tools, ...may]);
  return {
    agent,
    definition: null,
    tools,
    decide: (name) => ({ action: allowed.has(name) ? 'allow' : 'deny', owner: 'test', rule: null }),
    closedPaths: collectClosedPaths([{ kind: 'narrowing', owner: 'test', rules: rules.map(parseRule) }]),
  };
}

/** The result of a command in a sandbox of its own. */
export async function shell(workspace: string, command: string, as: As = {}, more: Partial<BashOptions> = {}) {
  const bash = createBash({ sandbox: more.sandbox ?? (await realSandbox()), ...more });
  return call(bash, workspace, { command }, { rights: rightsOf(as) });
}
