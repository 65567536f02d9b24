import { z } from 'zod';
import type { JsonObject } from './json.ts';

const metadata = z.custom<JsonObject>().optional();

/** A part of a model's answer, as it is recorded and sent back. `meta` is the provider's metadata, sent back unchanged. */
export const ContentPart = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string(), meta: metadata }),
  z.strictObject({ type: z.literal('reasoning'), text: z.string(), meta: metadata }),
  /** `input` is the text that the model wrote; it may be invalid JSON. */
  z.strictObject({ type: z.literal('tool-call'), callId: z.string(), tool: z.string(), input: z.string(), meta: metadata }),
]);
export type ContentPart = z.infer<typeof ContentPart>;

/** Larger counts of tokens are mistakes of the provider: more than any model reads or writes in one call, and their sums stay exact. */
export const maxTokenCount = 2 ** 31;

/** Token counts of one model call. `estimated`: the provider reported none, so they are computed as bytes / 3. */
export const Usage = z.strictObject({
  input: z.int().min(0),
  output: z.int().min(0),
  cached: z.int().min(0),
  reasoning: z.int().min(0),
  estimated: z.boolean(),
});
export type Usage = z.infer<typeof Usage>;
