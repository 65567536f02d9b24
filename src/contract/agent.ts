import { z } from 'zod';
import { LimitsGiven } from './limits.ts';
import { McpServer, McpServerName } from './mcp-server.ts';

/** A definition of an agent. `tools` absent means every tool there is; `[]` means none. */
export const Agent = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9_-]*(\/[a-z0-9][a-z0-9_-]*)?$/, 'lower-case letters, digits, - and _'),
  description: z.string(),
  prompt: z.string(),
  tools: z.array(z.string()).optional(),
  disallowedTools: z.array(z.string()).optional(),
  model: z.union([z.string(), z.array(z.string()).min(1)]).optional(),
  limits: LimitsGiven.optional(),
  rules: z.array(z.string()).optional(),
  /** The MCP servers it may use: names of configured ones, and some of its own. Absent: every configured one. */
  mcpServers: z.array(z.union([McpServerName, z.record(McpServerName, McpServer)])).optional(),
  /** Whether the workspace's AGENTS.md is put into the system prompt. */
  workspaceRules: z.boolean().optional(),
  /** Where the definition comes from: `built-in` or a file. */
  source: z.string(),
});
export type Agent = z.infer<typeof Agent>;
