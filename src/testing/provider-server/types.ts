/** The wire formats that the server speaks; it tells them apart by the path of the request. */
export type WireName = 'anthropic' | 'openai' | 'openai-compatible' | 'google';

/** A request as it came in. `headers` hold the key that was sent, so that tests can look for it, and elsewhere for its absence. */
export interface ProviderRequest {
  provider: WireName;
  method: string;
  path: string;
  headers: Record<string, string>;
  /** The parsed JSON. */
  body: Record<string, unknown>;
  model: string;
  streamed: boolean;
  /** Counts from 1 over all model calls of the server. */
  n: number;
  /** The client went away before the answer was over. */
  aborted: boolean;
}

export interface StepCall {
  tool: string;
  /** Any JSON; `{}` when left out. */
  args?: unknown;
  /** Instead of `args`: text that need not parse. */
  raw?: string;
  /** `call_<request>_<place>` when left out. */
  id?: string;
  /** Google: the thought signature that must come back with the call. */
  signature?: string;
}

export interface StepUsage {
  /** All tokens of the prompt, cached ones included. */
  input?: number;
  /** All tokens of the answer, reasoning included. */
  output?: number;
  cached?: number;
  /** Anthropic: tokens that were written into the cache; part of `input`. */
  written?: number;
  reasoning?: number;
}

/** What goes wrong with an answer. What is not said here about the step (text, calls, usage) still holds. */
export type Fault =
  /** An error answer. `retryAfter` (seconds or a date) and `retryAfterMs` become headers. */
  | { kind: 'status'; status: number; message?: string; retryAfter?: number | string; retryAfterMs?: number }
  /** 200, and then an error inside the stream, after all content: `type` is the provider's own name for it. */
  | { kind: 'error-event'; status: number; type?: string; message?: string }
  /** The socket is destroyed: before anything is sent, or in the middle of the content. */
  | { kind: 'reset'; when?: 'start' | 'middle' }
  /** The stream ends properly, but in the middle of the content: no finish, no usage. */
  | { kind: 'half' }
  /** As `half`, but the connection stays open and says nothing more, or nothing but pings. */
  | { kind: 'stall'; pings?: boolean }
  /** Pings for ever and nothing else. */
  | { kind: 'ping-only'; everyMs?: number }
  /** The request is read and never answered. */
  | { kind: 'no-first-byte' }
  /** One line of the stream without an end, made as it is read. */
  | { kind: 'huge-line'; bytes?: number }
  /** Every character of more than one byte is cut over two packets. */
  | { kind: 'split-utf8' }
  /** An event in the middle of the content that is no JSON. */
  | { kind: 'malformed-event' }
  /** Half a surrogate pair at the end of text, reasoning and of each string argument. */
  | { kind: 'lone-surrogate' }
  /** No usage; zeros where the format demands a number. */
  | { kind: 'no-usage' }
  | { kind: 'negative-usage' }
  /** Sends the client elsewhere. */
  | { kind: 'redirect'; to: string };

/** One answer. Without any key the model says nothing and stops. */
export interface ProviderStep {
  reasoning?: string;
  /** What the provider wants back with the reasoning: Anthropic's signature, OpenAI's encrypted content, Google's thought signature. */
  signature?: string;
  /** Anthropic: thinking that only the provider can read, after the other. */
  redacted?: string;
  text?: string;
  calls?: StepCall[];
  usage?: StepUsage;
  /** `tool-calls` with calls, else `stop`. */
  finish?: 'stop' | 'length' | 'tool-calls' | 'content-filter';
  /** Before the first byte. */
  delayMs?: number;
  /** Before each event. */
  chunkDelayMs?: number;
  /** Characters in each piece of text (default 16). */
  chunkSize?: number;
  fault?: Fault;
}

/** An event of a stream: its data, and its name where the format has one. */
export interface WireEvent {
  name?: string;
  data: unknown;
  /** Only content can be cut by a fault: what begins an answer comes first, what ends it is left out. */
  part: 'begin' | 'content' | 'end';
}

/** What a step means after defaults: the wire formats render this and nothing else. */
export interface Answer {
  id: string;
  model: string;
  reasoning: string;
  signature: string | null;
  redacted: string | null;
  text: string;
  calls: { id: string; tool: string; input: string; signature: string | null }[];
  finish: NonNullable<ProviderStep['finish']>;
  usage: Required<StepUsage> | null;
  chunkSize: number;
}

export interface Wire {
  /** The answer as a stream. */
  events(answer: Answer): WireEvent[];
  /** The answer in one piece. */
  whole(answer: Answer): unknown;
  error(fault: { status: number; message: string; type?: string }): unknown;
  /** An error inside a stream. */
  errorEvent(fault: { status: number; message: string; type?: string }): WireEvent;
  /** What keeps a connection alive, as it goes over the wire. */
  ping: string;
  /** What ends a stream after its last event. */
  done?: string;
}

export function pieces(text: string, size: number): string[] {
  const characters = Array.from(text);
  const found: string[] = [];
  for (let at = 0; at < characters.length; at += size) found.push(characters.slice(at, at + size).join(''));
  return found;
}
