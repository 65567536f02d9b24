import type { z } from 'zod';
import type { Agent } from '../contract/agent.ts';
import type { Brief } from '../contract/brief.ts';
import type { ErrorInfo } from '../contract/error.ts';
import type { Fact } from '../contract/fact.ts';
import type { Decision } from '../contract/grant.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { ChildView, DelegationApply, Page, ReadPart } from './delegation.ts';
import type { Memory } from './notes.ts';
import type { FileText } from './workspace.ts';

/**
 * What a delegation tool asks of the kernel. `waitMs`: null waits until the caller's deadline, 0 does not wait. `newest`: an id may also be a label, and
 * means the newest run that continues the run of this id.
 */
export type DelegationRequest =
  /** `atOnce`: how many of these briefs run at the same time, within the caller's limits. */
  | { kind: 'delegate'; briefs: Brief[]; waitMs: number | null; atOnce?: number }
  | { kind: 'wait'; ids: string[] | null; mode: 'all' | 'any'; waitMs: number | null; newest?: true }
  /** `interrupt`: an active run is cancelled first, so that the message starts a run that continues it. The reply then has both, the new one first. */
  | { kind: 'message'; id: string; text: string; newest?: true; interrupt?: true }
  | { kind: 'read'; id: string; part: ReadPart; offset: number; limit: number }
  | { kind: 'cancel'; ids: string[]; reason: string | null; newest?: true }
  | { kind: 'apply'; ids: string[]; check: boolean }
  | { kind: 'refuse'; message: string };

/** One child in a reply, or why there is none. `asked` is the id as the caller wrote it; null for a brief that was not started. */
export type ChildReply = { ok: true; view: ChildView } | { ok: false; error: ErrorInfo; asked: string | null };

/** The kernel's answer. `children` are in the order of the briefs or ids of the request. */
export type DelegationReply =
  /**
   * `before`: for a cancel, the runs as they were before it; null for one that is not a child of the caller. `isFollowUp`: for a message, the run that it was
   * for has ended, and the first child continues it.
   */
  | { kind: 'children'; children: ChildReply[]; before?: (ChildView | null)[]; isFollowUp?: boolean }
  | { kind: 'page'; id: string; page: Page; view?: ChildView | null }
  | { kind: 'applied'; report: DelegationApply & { ok: true } }
  | { kind: 'refused'; error: ErrorInfo };

/** A part of a result. `run` marks text that a child wrote; the kernel fences it before it enters a conversation. */
export interface ResultPart {
  text: string;
  run?: string;
  /** The dialect has fitted the text to the caller's limit itself, so it is not cut again. */
  fitted?: true;
}

export interface DialectResult {
  parts: ResultPart[];
  isError: boolean;
  /** The same content as JSON. Clients read it instead of the text, unless `besideText` is set. */
  structured?: Json;
  /** Clients read the text, and `structured` beside it. */
  besideText?: true;
}

export interface DialectContext {
  /** Who uses the tool: a parent model, or a client over MCP. MCP clients give up after 60 s, so waits are shorter there. */
  door: 'model' | 'mcp';
  agents: { name: string; description: string }[];
  /** Identifies this use of the tool. */
  call: string;
  /** How much of a result may enter the caller's context; null or absent if the caller has no limit of its own. */
  maxOutputBytes?: number | null;
  /** How many children the caller may have at the same time; null or absent if it has no limit of its own, or it is not known yet. */
  maxConcurrent?: number | null;
  /** The longest that a child of the caller may run, in milliseconds; null or absent if only the child's own limit counts. */
  maxChildMs?: number | null;
}

/** A delegation tool: two pure functions around the kernel, input to request and reply to result. */
export interface DialectTool<I = unknown> {
  name: string;
  /** Display name, for clients that show one. */
  title?: string;
  description(context: Omit<DialectContext, 'call'>): string;
  input: z.ZodType<I>;
  /** The JSON Schema that models of runs see; derived from `input` if absent. */
  inputSchema?: JsonObject;
  /** Schema of `structured`, if results have it. */
  output?: z.ZodType;
  readOnly: boolean;
  /** Whether it may undo or overwrite something; false if it only adds. */
  destructive?: boolean;
  /** Whether an interrupted call may be repeated; children that it had started are then found, not started twice. True if absent. */
  repeatable?: boolean;
  /** Equal calls in a row are normal: each waits for a while, or asks for the state. They do not count as a loop, but their turns count. */
  polls?: true;
  /** Words the refusal of input that `input` does not accept; `problem` names the parameter. Pure. */
  describeInvalid?(problem: string): string;
  toRequest(input: I, context: DialectContext): DelegationRequest;
  fromReply(reply: DelegationReply, request: DelegationRequest, context: DialectContext): DialectResult;
}

/** The content of a delegated run's first message, with files and memories as they were read. */
export interface FirstMessage {
  task: string;
  context: string | null;
  files: { path: string; file: FileText }[];
  memories: Memory[];
}

/** How runs of a dialect behave. Omitted fields use native behaviour. */
export interface DialectSetup {
  /** Replace the built-in limits. `limits` of the configuration can only lower them; agents, briefs and flags of a command override them. */
  limits?: LimitsGiven;
  /** What happens to a brief whose parent already has its maximum number of concurrent children. */
  whenFull?: 'queue' | 'refuse';
  /** Where tools of delegated runs execute by default. */
  host?: 'inline' | 'process';
  /** Delegated runs end when their client disconnects; otherwise they are paused and can be resumed. */
  endsWithClient?: boolean;
  /** Agents that only this dialect knows. */
  agents?: Agent[];
  /** The agent of a root brief that names none. */
  root?: string;
  /** Offers the delegation tools at the maximum depth too, where calls are refused. */
  offerAlways?: boolean;
  /** A brief that allows a tool which its parent cannot pass on is refused. Otherwise the run starts without that tool. */
  refusesMissingTools?: true;
  /** The text that a delegated run reads if it calls a delegation tool that it was not offered. Pure. */
  notOffered?(tool: string): string;
  /** Every call of a client is recorded in the client's run, with its input and result; also calls that are refused. */
  recordsCalls?: true;
  /** Builds the first message of a delegated run. Pure. */
  first?(given: FirstMessage): string;
  /** Added to a delegated run's system prompt, after the agent's prompt; null adds nothing. */
  rules?: string | null;
  /** The text that a delegated run reads for a denied call. Pure. */
  denial?(tool: string, decision: Decision): string;
  /** False: calls of delegated runs that need approval are denied. */
  asks?: false;
  /** When old tool results are removed from a delegated run's conversation. */
  context?: ContextLimits;
  /** The entry of the source's activity log for a fact of the parent; null if it has none. Pure. */
  activity?(fact: Fact, child: { brief: Brief; maxTurns: number | null } | null): Activity | null;
}

export interface ContextLimits {
  /** At most the model's context window, which is also the default. */
  maxTokens?: number;
  /** Number of latest turns whose results are never removed. */
  keptTurns?: number;
  /** The share of `maxTokens`, from 0 to 1, at which removing starts. */
  startAt?: number;
}

export interface Activity {
  type: string;
  message: string;
  metadata: Record<string, string>;
  /** The line of the source's debug log about the same event. */
  debug?: string;
}

/** A set of delegation tools with their exact contract. Pure: equal inputs produce equal requests, equal replies equal results. */
export interface Dialect {
  name: string;
  description: string;
  // biome-ignore lint/suspicious/noExplicitAny: tools of one dialect have different inputs
  tools: DialectTool<any>[];
  /** The tool that reads the rest of an ended run's report. Without one, reports are included whole. */
  reader?: string;
  setup?: DialectSetup;
}
