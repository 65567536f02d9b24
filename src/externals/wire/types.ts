// What the model gate needs to know of a provider's protocol.
import type { Usage } from '../../contract/content.ts';
import type { GateAnswer } from '../../ports/external-agent.ts';

export type Body = Record<string, unknown>;

export interface WireCall {
  id: string;
  name: string;
  input: unknown;
}

export interface WireAnswer extends Pick<GateAnswer, 'text' | 'finish'> {
  calls: WireCall[];
  /** Null if the provider did not say. */
  usage: Usage | null;
}

export interface WireResult {
  id: string;
  isError: boolean;
  output: string;
}

export interface Wire {
  /** The only path that the gate serves. */
  path: string;
  /** Headers of the agent that the provider gets. */
  headers: readonly string[];
  /**
   * Removes tools that the provider itself would execute, and fields that are not known. `canSearch`: its web search may stay. Throws for a request
   * that hides its conversation or makes the provider fetch something.
   */
  restrict(body: Body, canSearch: boolean): Body;
  /** A short request, for trying the gate. */
  probe(model: string): Body;
  /** Results of tool calls since the last answer of the model. */
  results(body: Body): WireResult[];
  /** The answer from the events of a stream; null if it is incomplete. */
  readEvents(events: Body[]): WireAnswer | null;
  readWhole(body: Body): WireAnswer | null;
  /** Counts of tokens, as the provider names them. Null if there are none. */
  readUsage(counts: Body): Usage | null;
  /** An answer that consists of a text, as a stream or as one object. */
  writeEvents(text: string, model: string): string;
  writeWhole(text: string, model: string): Body;
  ping: string;
  /** A refusal that makes agents stop instead of retrying. */
  refusal(message: string): { status: number; body: Body };
  error(status: number, message: string): Body;
}
