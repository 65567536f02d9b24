import type { ExternalAgent } from '../contract/agent.ts';
import type { Usage } from '../contract/content.ts';
import type { ErrorInfo } from '../contract/error.ts';
import type { FactData } from '../contract/fact.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { PreparedWorkspace } from './checkouts.ts';
import type { ModelHandle } from './model.ts';

/** A tool call of an external agent, under Retinue's own name of the tool. */
export interface ExternalCall {
  /** The agent's id of the call. */
  id: string;
  tool: string;
  args: Json;
  /** Only changes the agent's own state, such as its list of things to do; no rule applies. */
  isInternal?: boolean;
}

/** The result of a call, as the agent reports it. */
export interface ExternalResult {
  id: string;
  isError: boolean;
  output: string;
}

/** A model call that the agent wants to make. */
export interface GateRequest {
  hash: string;
  bytes: number;
  maxOutputTokens: number | null;
  /** Part of the conversation: it offers tools. Otherwise a side call, such as one for a title. */
  isTurn: boolean;
  /** Results of tool calls in the request. */
  results: ExternalResult[];
}

export interface GateAnswer {
  text: string;
  calls: ExternalCall[];
  finish: FactData['model.answered']['finish'];
  usage: Usage;
}

/** A model call that may be made. Exactly one of `answered` and `failed` must be called. */
export interface GateCall {
  /** Resolves when the answer is durable and its calls are judged. Null: the agent may have it. Otherwise the text that it gets instead. */
  answered(answer: GateAnswer): Promise<string | null>;
  failed(failure: GateFailure): void;
}

export interface GateFailure {
  error: ErrorInfo;
  /** The provider refused because of load or quota. */
  isLimited: boolean;
  /** What the call used up until then. Null: nothing, because the provider did not get it or refused it. */
  usage: Usage | null;
}

/** Decides about the model calls of one run. */
export interface ModelGate {
  /** Waits for room in the budget. `refused`: no call of this run may be made any more. */
  begin(request: GateRequest): Promise<{ ok: true; call: GateCall } | { ok: false; refused: string }>;
}

/** What an external agent reports to its run. */
export interface ExternalHandlers {
  /** A piece of its text, as it arrives. */
  text(kind: 'text' | 'reasoning', text: string): void;
  callStarted(call: ExternalCall): void;
  callFinished(result: ExternalResult): void;
  /** Whether a call may be made. A second question about the same call gets the same answer. */
  permit(call: ExternalCall): Promise<boolean>;
  /** Checks a structured result. Null: it is accepted; otherwise what is wrong with it. */
  submit(value: Json): Promise<string | null>;
  gate: ModelGate;
}

export interface ExternalRequest {
  runId: string;
  rootId: string;
  external: ExternalAgent;
  workspace: string;
  files: Pick<PreparedWorkspace, 'mounts' | 'objects'> | null;
  /** Null if the agent uses its own login. */
  model: ModelHandle | null;
  /** Whether its rights include writing files of the workspace, and the network. */
  canWrite: boolean;
  canUseNetwork: boolean;
  /** Whether the provider's own web search may be used. */
  canSearch: boolean;
  /** Schema of the structured result, if one is wanted. */
  schema: JsonObject | null;
  /** The session of an earlier process. */
  session: string | null;
  handlers: ExternalHandlers;
  signal: AbortSignal;
}

export interface ExternalTurn {
  stop: 'end_turn' | 'max_tokens' | 'max_turn_requests' | 'refusal' | 'cancelled';
  /** As the agent counts; null if it does not say. */
  usage: Usage | null;
}

export interface ExternalSession {
  opened: FactData['session.opened'];
  /** Sends a prompt and waits for the end of the agent's turn. Rejects with RetinueError `agent_program` if the agent breaks off. */
  prompt(text: string): Promise<ExternalTurn>;
  /** Asks the agent to end its turn. Open questions are answered first. */
  cancel(): void;
  /** Ends the program. When it resolves, none of its processes exists. Never rejects. */
  close(): Promise<void>;
}

/** Programs that do the work of a run instead of the model loop. */
export interface ExternalAgents {
  /** The name in facts and messages. */
  nameOf(external: ExternalAgent): string;
  /** Rejects with RetinueError `agent_program`, which says what to do, if the program is missing, too old, not logged in or does not answer. */
  open(request: ExternalRequest): Promise<ExternalSession>;
}
