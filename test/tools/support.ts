import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Delegation } from '../../src/ports/delegation.ts';
import type { AnyTool, Rights, ToolContext, ToolResult } from '../../src/ports/tool.ts';

/** A workspace with a directory beside it that no tool may touch. Both are gone after the test. */
export function makeWorkspace(): { workspace: string; outside: string } {
  const base = mkdtempSync(join(tmpdir(), 'retinue-tools-'));
  const workspace = join(base, 'workspace');
  const outside = join(base, 'outside');
  mkdirSync(workspace);
  mkdirSync(outside);
  onTestFinished(() => rmSync(base, { recursive: true, force: true }), 300_000);
  return { workspace, outside };
}

/** A run that may do everything but use the network from a shell. */
const anyRights: Rights = {
  agent: 'general',
  definition: null,
  tools: ['read', 'write', 'edit', 'bash'],
  decide: (tool) => ({ action: tool === 'network' || tool === 'git' ? 'deny' : 'allow', owner: 'test', rule: null }),
};

/** Calls a tool as the kernel does: arguments checked first. Calls of one run share a memo. */
export function call(
  tool: AnyTool,
  workspace: string,
  input: unknown,
  { signal = new AbortController().signal, memo = new Map(), runId = '0'.repeat(16), rights = anyRights }: Partial<ToolContext> = {},
): Promise<ToolResult> {
  const delegation = null as unknown as Delegation;
  return tool.execute(tool.input.parse(input), {
    runId,
    rootId: '0'.repeat(16),
    workspace,
    signal,
    memo,
    rights,
    delegation,
    confirmTarget: async () => {},
  });
}
