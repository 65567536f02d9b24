import { z } from 'zod';
import { LimitsGiven } from './limits.ts';
import { McpServer, McpServerName } from './mcp-server.ts';

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
  limits: LimitsGiven.optional(),
  rules: z.array(z.string()).optional(),
  /** The MCP servers it may use: names of configured servers, or definitions. If absent, every configured server. */
  mcpServers: z.array(z.union([McpServerName, z.record(McpServerName, McpServer)])).optional(),
  /** Whether the system prompt includes the workspace's AGENTS.md. True if absent. */
  workspaceRules: z.boolean().optional(),
  /** `built-in`, or the path of the file that defines it. */
  source: z.string(),
});
export type Agent = z.infer<typeof Agent>;
