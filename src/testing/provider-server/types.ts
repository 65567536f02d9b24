/** The wire formats of the server. It recognizes them by the path of the request. */
export type WireName = 'anthropic' | 'openai' | 'openai-compatible' | 'google';

/** A recorded request. `headers` include the API key, so that tests can check it, and check that it is nowhere else. */
export interface ProviderRequest {
  provider: WireName;
  method: string;
  path: string;
  headers: Record<string, string>;
  /** The parsed JSON. */
  body: Record<string, unknown>;
  model: string;
  streamed: boolean;
  /** The number of the model call, starting at 1. */
  n: number;
  /** The client disconnected before the answer was complete. */
  aborted: boolean;
}

export interface StepCall {
  tool: string;
  /** Any JSON. Default: `{}`. */
  args?: unknown;
  /** Instead of `args`: text that may be invalid JSON. */
  raw?: string;
  /** Default: `call_<request>_<position>`. */
  id?: string;
  /** Google: the thought signature that the client must send back with the call. */
  signature?: string;
}

export interface StepUsage {
  /** All tokens of the prompt, including cached ones. */
  input?: number;
  /** All tokens of the answer, including reasoning. */
  output?: number;
  cached?: number;
  /** Anthropic: tokens written to the cache; part of `input`. */
  written?: number;
  reasoning?: number;
}

/** What goes wrong with an answer. The rest of the step (text, calls, usage) still applies. */
export type Fault =
  /** An error answer. `retryAfter` (seconds or a date) and `retryAfterMs` become headers. */
  | { kind: 'status'; status: number; message?: string; retryAfter?: number | string; retryAfterMs?: number }
  /** Status 200, then an error inside the stream after all content. `type` is the provider's name of the error. */
  | { kind: 'error-event'; status: number; type?: string; message?: string }
  /** Destroys the socket before anything is sent, or in the middle of the content. */
  | { kind: 'reset'; when?: 'start' | 'middle' }
  /** Ends the stream properly, but in the middle of the content: no finish, no usage. */
  | { kind: 'half' }
  /** As `half`, but the connection stays open and sends nothing more, or only pings. */
  | { kind: 'stall'; pings?: boolean }
  /** Sends pings forever and nothing else. */
  | { kind: 'ping-only'; everyMs?: number }
  /** Reads the request and never answers. */
  | { kind: 'no-first-byte' }
  /** Sends one line that never ends, generated while the client reads. */
  | { kind: 'huge-line'; bytes?: number }
  /** Splits every multi-byte character over two packets. */
  | { kind: 'split-utf8' }
  /** Sends an event with invalid JSON in the middle of the content. */
  | { kind: 'malformed-event' }
  /** Adds half a surrogate pair to text, reasoning and each string argument. */
  | { kind: 'lone-surrogate' }
  /** No usage; zeros if the format requires numbers. */
  | { kind: 'no-usage' }
  | { kind: 'negative-usage' }
  /** Redirects the client. */
  | { kind: 'redirect'; to: string };

/** One answer. An empty step is an empty answer that stops. */
export interface ProviderStep {
  reasoning?: string;
  /** What the client must send back with the reasoning: Anthropic's signature, OpenAI's encrypted content, Google's thought signature. */
  signature?: string;
  /** Anthropic: redacted thinking, after the readable one. */
  redacted?: string;
  text?: string;
  calls?: StepCall[];
  usage?: StepUsage;
  /** Default: `tool-calls` if there are calls, otherwise `stop`. */
  finish?: 'stop' | 'length' | 'tool-calls' | 'content-filter';
  /** Delay before the first byte. */
  delayMs?: number;
  /** Delay before each event. */
  chunkDelayMs?: number;
  /** Characters in each chunk of text. Default: 16. */
  chunkSize?: number;
  fault?: Fault;
}

/** An event of a stream: its data, and its name if the format has one. */
export interface WireEvent {
  name?: string;
  data: unknown;
  /** Faults cut only content: `begin` events are always sent, `end` events are omitted after a cut. */
  part: 'begin' | 'content' | 'end';
}

/** A step after defaults are applied. The wire formats render only this. */
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
  /** The raw text that keeps a connection alive. */
  ping: string;
  /** The raw text after the last event of a stream. */
  done?: string;
}

/** Splits by characters, not UTF-16 units. */
export function splitText(text: string, size: number): string[] {
  const characters = Array.from(text);
  const chunks: string[] = [];
  for (let at = 0; at < characters.length; at += size) chunks.push(characters.slice(at, at + size).join(''));
  return chunks;
}
