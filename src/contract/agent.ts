import { z } from 'zod';
import { AgentParameters } from './agent-parameter.ts';
import { Check } from './check.ts';
import { Effort } from './effort.ts';
import type { JsonObject } from './json.ts';
import { LimitsGiven } from './limits.ts';
import { McpServer, McpServerName } from './mcp-server.ts';

/** The external agents that Retinue knows how to start. */
export const externalPrograms = ['claude', 'codex', 'opencode'] as const;
export type ExternalProgram = (typeof externalPrograms)[number];

/** `own`: the program uses its own login and reaches its provider itself. Otherwise its model calls go through Retinue's model gate. */
const login = z.literal('own').optional();

/** An external agent: one that Retinue knows, or any program that speaks the Agent Client Protocol on its standard input and output. */
export const ExternalAgent = z.union([
  z.strictObject({ program: z.enum(externalPrograms), login }),
  z.strictObject({ acp: z.array(z.string().min(1)).min(1), login }),
]);
export type ExternalAgent = z.infer<typeof ExternalAgent>;

/** The definition of an agent. Without `tools` it may use every tool; with `[]` none. */
export const Agent = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9_-]*(\/[a-z0-9][a-z0-9_-]*)?$/, 'lower-case letters, digits, - and _'),
  description: z.string(),
  prompt: z.string(),
  tools: z.array(z.string()).optional(),
  /** The tools that runs delegated by it may use; `tools` if absent. Everything above the agent still applies to them. */
  childTools: z.array(z.string()).optional(),
  disallowedTools: z.array(z.string()).optional(),
  model: z.union([z.string(), z.array(z.string()).min(1)]).optional(),
  effort: Effort.optional(),
  limits: LimitsGiven.optional(),
  rules: z.array(z.string()).optional(),
  /** The MCP servers it may use: names of configured servers, or definitions. If absent, every configured server. */
  mcpServers: z.array(z.union([McpServerName, z.record(McpServerName, McpServer)])).optional(),
  /** Whether the system prompt includes the workspace's AGENTS.md. True if absent. */
  workspaceRules: z.boolean().optional(),
  /** Whether models may delegate to it. True if absent. People may always run it. */
  modelInvocation: z.boolean().optional(),
  /** `worktree`: each of its runs gets its own copy of the files. */
  isolation: z.literal('worktree').optional(),
  /** The program that does the work, instead of Retinue's own loop. */
  runs: ExternalAgent.optional(),
  /** Placeholders of its texts. A brief gives their values (`params`). */
  parameters: AgentParameters.optional(),
  /** The form of the result, unless the brief has one. */
  result: z
    .strictObject({
      schema: z.custom<JsonObject>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), 'a JSON Schema object'),
    })
    .optional(),
  /** Acceptance checks of its runs, before those of the brief. They have the rights of the author of the brief. */
  checks: z.array(Check).max(20).optional(),
  maxCheckRounds: z.int().min(1).max(20).optional(),
  /** Its prompt contains the task, so that a user need not give one. */
  hasTask: z.literal(true).optional(),
  /** `built-in`, or the path of the file that defines it. */
  source: z.string(),
});
export type Agent = z.infer<typeof Agent>;
