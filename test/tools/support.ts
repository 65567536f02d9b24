import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Delegation } from '../../src/ports/delegation.ts';
import type { AnyTool, Rights, ToolContext, ToolResult } from '../../src/ports/tool.ts';

/** A workspace and a directory next to it that no tool may touch. Both are removed after the test. */
export function makeWorkspace(): { workspace: string; outside: string } {
  const base = mkdtempSync(join(tmpdir(), 'retinue-tools-'));
  const workspace = join(base, 'workspace');
  const outside = join(base, 'outside');
  mkdirSync(workspace);
  mkdirSync(outside);
  onTestFinished(() => rmSync(base, { recursive: true, force: true }), 300_000);
  return { workspace, outside };
}

/** Everything is allowed except network and git in a shell. */
const anyRights: Rights = {
  agent: 'general',
  definition: null,
  tools: ['read', 'write', 'edit', 'bash'],
  decide: (tool) => ({ action: tool === 'network' || tool === 'git' ? 'deny' : 'allow', owner: 'test', rule: null }),
  closedPaths: { read: [], write: [] },
};

/** Calls a tool like the kernel, with checked arguments. Pass the same memo for calls of one run. */
export function call(
  tool: AnyTool,
  workspace: string,
  input: unknown,
  { signal = new AbortController().signal, memo = new Map(), runId = '0'.repeat(16), rights = anyRights, files }: Partial<ToolContext> = {},
): Promise<ToolResult> {
  const delegation = null as unknown as Delegation;
  return tool.execute(tool.input.parse(input), {
    runId,
    rootId: '0'.repeat(16),
    workspace,
    signal,
    memo,
    rights,
    files,
    delegation,
    confirmTarget: async () => {},
  });
}
