import type { Agent } from '../contract/agent.ts';
import type { AnyTool } from './tool.ts';

export interface ToolSourceResult {
  tools: AnyTool[];
  /** Patterns of tools that this run cannot use because they were not requested or their server is unreachable. Briefs may still name them. */
  absent: string[];
  /** Messages for the user who started the run. */
  notices: string[];
}

/**
 * Tools from outside, such as MCP servers, in addition to the built-in ones. A run keeps the tools it got at its start. `tools` never rejects and
 * takes bounded time: unreachable tools are absent, with a notice.
 */
export interface ToolSource {
  /** `allow`: the tools that the brief is limited to, as names that may end in `*`; all tools if absent. */
  tools(agent: Agent, allow?: readonly string[]): Promise<ToolSourceResult>;
  /** Ends every connection and process. Calls in progress fail; nothing is opened afterwards. */
  close(): Promise<void>;
}
