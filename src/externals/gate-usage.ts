// What a model call of an external agent is charged if the provider does not say, or not all of it: tokens are estimated at a third of the bytes.
import type { Usage } from '../contract/content.ts';
import { asList, asObject } from './wire/body.ts';
import type { Body, Wire, WireAnswer } from './wire/types.ts';

const bytesPerToken = 3;
/** Protocols do not nest output deeper. */
const maxDepth = 10;

/** For a complete answer without counts. */
export function estimateUsage(request: string, raw: string, { calls, text }: WireAnswer): Usage {
  return createEstimate(request, calls.length === 0 ? Buffer.byteLength(text) : raw.length);
}

export interface PartialAnswer {
  request: string;
  /** What the provider has sent. */
  arrived: readonly Buffer[];
  isStream: boolean;
}

/** For an answer that broke off: the counts that it had until then, at least what arrived of the output, and the whole input. */
export function estimatePartialUsage(wire: Wire, { request, arrived, isStream }: PartialAnswer): Usage {
  const raw = Buffer.concat(arrived).toString('utf8');
  const lines = isStream ? raw.split(/\r?\n/).flatMap((line) => (line.startsWith('data:') ? [line.slice(5)] : [])) : [raw];
  const events = lines.flatMap(parseObject);
  const estimate = createEstimate(request, isStream ? countOutput(events) : Buffer.byteLength(raw));
  const counts = events.flatMap((event) => [asObject(event.message).usage, asObject(event.response).usage, event.usage].map(asObject));
  const known = wire.readUsage(Object.assign({}, ...counts));
  // Counts of a complete body are final. In a stream, the count of the output may be of its beginning.
  return known ? { ...known, estimated: isStream, output: Math.max(known.output, isStream ? estimate.output : 0) } : estimate;
}

function createEstimate(request: string, outputBytes: number): Usage {
  const input = Math.ceil(Buffer.byteLength(request) / bytesPerToken);
  return { cached: 0, estimated: true, input, output: Math.ceil(outputBytes / bytesPerToken), reasoning: 0 };
}

/** The last line of a stream may be cut off. */
function parseObject(text: string): Body[] {
  try {
    return [asObject(JSON.parse(text))];
  } catch {
    return [];
  }
}

/** Bytes of the output in the events of a stream. Each protocol has it in fields named `delta`. */
function countOutput(events: Body[]): number {
  return events.reduce((sum, event) => sum + countText(event.delta) + countText(asList(event.choices).map(({ delta }) => delta)), 0);
}

function countText(value: unknown, depth = 0): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value !== 'object' || value === null || depth > maxDepth) return 0;
  return Object.entries(value).reduce((sum, [key, part]) => sum + (key === 'type' || key === 'id' ? 0 : countText(part, depth + 1)), 0);
}
