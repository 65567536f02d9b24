import type { z } from 'zod';
import type { Agent } from '../contract/agent.ts';
import type { Brief } from '../contract/brief.ts';
import type { ErrorInfo } from '../contract/error.ts';
import type { Fact } from '../contract/fact.ts';
import type { Decision } from '../contract/grant.ts';
import type { Json } from '../contract/json.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { ChildView, Page, ReadPart } from './delegation.ts';
import type { Memory } from './notes.ts';
import type { FileText } from './workspace.ts';

/** What a delegation tool asks of the kernel. `waitMs` null: as long as the caller's deadline; 0: do not wait. */
export type DelegationRequest =
  /** `atOnce`: no more of these briefs at work at a time, below what the caller may have anyway. */
  | { kind: 'delegate'; briefs: Brief[]; waitMs: number | null; atOnce?: number }
  | { kind: 'wait'; ids: string[] | null; mode: 'all' | 'any'; waitMs: number | null }
  | { kind: 'message'; id: string; text: string }
  | { kind: 'read'; id: string; part: ReadPart; offset: number; limit: number }
  | { kind: 'cancel'; ids: string[]; reason: string | null }
  | { kind: 'refuse'; message: string };

/** One child in a reply: where it stands, or why there is none. `asked` is the id as the caller wrote it. */
export type ChildReply = { ok: true; view: ChildView } | { ok: false; error: ErrorInfo; asked: string | null };

/** What the kernel answers. The order of `children` is the order of the briefs or ids asked for. */
export type DelegationReply =
  | { kind: 'children'; children: ChildReply[] }
  | { kind: 'page'; id: string; page: Page }
  | { kind: 'refused'; error: ErrorInfo };

/** A piece of a result. `run` marks text that a child wrote: the kernel fences it before it enters a conversation. */
export interface ResultPart {
  text: string;
  run?: string;
}

export interface DialectResult {
  parts: ResultPart[];
  isError: boolean;
  /** The same as JSON, for dialects whose results are JSON. */
  structured?: Json;
}

/** Which door the tool is used through. Over MCP clients give up after 60 s, so waits are shorter there. */
export interface DialectContext {
  door: 'model' | 'mcp';
  agents: { name: string; description: string }[];
  /** Names this one use of the tool: the same for the facts that it leads to, and for no other use. */
  call: string;
}

/** One delegation tool: two pure functions around the kernel. */
export interface DialectTool<I = unknown> {
  name: string;
  /** As a person reads it, in clients that show a title. */
  title?: string;
  description(context: Omit<DialectContext, 'call'>): string;
  input: z.ZodType<I>;
  /** The form of `structured`, where results have one. */
  output?: z.ZodType;
  readOnly: boolean;
  /** Whether it may undo or overwrite something; false where it only adds. */
  destructive?: boolean;
  /** Whether a call that was cut off may be made again: children that it had started are found, not started twice. True where it is absent. */
  repeatable?: boolean;
  toRequest(input: I, context: DialectContext): DelegationRequest;
  fromReply(reply: DelegationReply, request: DelegationRequest, context: DialectContext): DialectResult;
}

/** What the first message of a delegated run is made of: files and memories as they were read. */
export interface FirstMessage {
  task: string;
  context: string | null;
  files: { path: string; file: FileText }[];
  memories: Memory[];
}

/** How runs are set up that are delegated under a contract. What is absent is as natively. */
export interface DialectSetup {
  /** In the place of the built-in limits; the configuration's come before. */
  limits?: LimitsGiven;
  /** What becomes of a brief when its parent has all the children it may have at once. */
  whenFull?: 'queue' | 'refuse';
  /** Where delegated runs execute unless somebody says otherwise. */
  host?: 'inline' | 'process';
  /** Runs end when the client that delegated them goes away; otherwise they are paused, and can be gone on with. */
  endsWithClient?: boolean;
  /** Agents of its own name space, known to this dialect alone. */
  agents?: Agent[];
  /** The agent of a root that names none. */
  root?: string;
  /** The tools stay on offer at the deepest level too, where a call is refused. */
  offerAlways?: boolean;
  /** Pure. */
  first?(given: FirstMessage): string;
  /** What delegated runs are told after their agent's own prompt; null: nothing. */
  rules?: string | null;
  /** How a call reads to a delegated run that no rule allows. Pure. */
  denial?(tool: string, decision: Decision): string;
  /** False: nobody is asked for a delegated run; where a rule asks, its call is denied. */
  asks?: false;
  /** When old tool results are taken out of a delegated run's conversation. */
  context?: ContextLimits;
  /** An entry of the source's own activity log for a fact of the parent; null where it has none. Pure. */
  activity?(fact: Fact, child: { brief: Brief; maxTurns: number | null } | null): Activity | null;
}

export interface ContextLimits {
  /** As large as the model's window where it is absent; never larger. */
  maxTokens?: number;
  /** Turns whose results always stay. */
  keptTurns?: number;
  /** The part of it at which room is made, from 0 to 1. */
  startAt?: number;
}

export interface Activity {
  type: string;
  message: string;
  metadata: Record<string, string>;
}

/** A delegation tool contract over the one kernel. Pure: the same input gives the same request, the same reply the same result. */
export interface Dialect {
  name: string;
  description: string;
  // biome-ignore lint/suspicious/noExplicitAny: tools of one dialect have different inputs
  tools: DialectTool<any>[];
  /** The tool that reads the report of an ended run by its id; absent where there is none, and reports have to be told whole. */
  reader?: string;
  setup?: DialectSetup;
}
