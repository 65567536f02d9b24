import { z } from 'zod';
import type { JsonObject } from './json.ts';

const metadata = z.custom<JsonObject>().optional();

/** A part of a model's answer, as it is journaled and sent back. `meta` is the provider's own and goes back as it came. */
export const ContentPart = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string(), meta: metadata }),
  z.strictObject({ type: z.literal('reasoning'), text: z.string(), meta: metadata }),
  /** `input` is the text that the model wrote: it need not parse. */
  z.strictObject({ type: z.literal('tool-call'), callId: z.string(), tool: z.string(), input: z.string(), meta: metadata }),
]);
export type ContentPart = z.infer<typeof ContentPart>;

/** Token counts of one model call; `estimated` where the provider gave none and bytes/3 stand in. */
export const Usage = z.strictObject({
  input: z.int().min(0),
  output: z.int().min(0),
  cached: z.int().min(0),
  reasoning: z.int().min(0),
  estimated: z.boolean(),
});
export type Usage = z.infer<typeof Usage>;
