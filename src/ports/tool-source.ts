import type { Agent } from '../contract/agent.ts';
import type { AnyTool } from './tool.ts';

export interface ToolSourceResult {
  tools: AnyTool[];
  /** Names, a `*` at their end, of tools that there may be, but not for this run: not wanted, or out of reach. */
  absent: string[];
  /** What the one who started the run is told. */
  notices: string[];
}

/**
 * Tools that come from elsewhere: what an agent may get beside the tools that are always there. What a run got stays as it is
 * for that run. `tools` never rejects: what cannot be reached is absent, with a notice. It takes bounded time.
 */
export interface ToolSource {
  /** `allow`: the only tools that the brief asks for, names that may end in `*`; absent where it asks for all. */
  tools(agent: Agent, allow?: readonly string[]): Promise<ToolSourceResult>;
  /** Ends every connection and process. Calls that are at work fail; nothing is opened afterwards. */
  close(): Promise<void>;
}
