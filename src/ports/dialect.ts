import type { z } from 'zod';
import type { Brief } from '../contract/brief.ts';
import type { ErrorInfo } from '../contract/error.ts';
import type { Json } from '../contract/json.ts';
import type { ChildView, Page, ReadPart } from './delegation.ts';

/** What a delegation tool asks of the kernel. `waitMs` null: as long as the caller's deadline; 0: do not wait. */
export type DelegationRequest =
  | { kind: 'delegate'; briefs: Brief[]; waitMs: number | null }
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
}

/** One delegation tool: two pure functions around the kernel. */
export interface DialectTool<I = unknown> {
  name: string;
  description(context: DialectContext): string;
  input: z.ZodType<I>;
  readOnly: boolean;
  toRequest(input: I, context: DialectContext): DelegationRequest;
  fromReply(reply: DelegationReply, request: DelegationRequest, context: DialectContext): DialectResult;
}

/** A delegation tool contract over the one kernel. Pure: the same input gives the same request, the same reply the same result. */
export interface Dialect {
  name: string;
  description: string;
  // biome-ignore lint/suspicious/noExplicitAny: tools of one dialect have different inputs
  tools: DialectTool<any>[];
}
