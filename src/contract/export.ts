import { z } from 'zod';
import { factTypes } from './fact.ts';
import { Hash, Instant, RunId } from './ids.ts';

/** Version of the export format. Imports refuse a later one. */
export const exportVersion = 1;

/** The first line of an export: the tree, and how much must follow. `lastHash` is the root's last hash, which covers the tree. */
export const ExportHeader = z.strictObject({
  format: z.literal('retinue-export'),
  v: z.int(),
  rootId: RunId,
  runs: z.int().min(1),
  facts: z.int().min(1),
  lastHash: Hash,
});
export type ExportHeader = z.infer<typeof ExportHeader>;

/** Content that facts refer to by hash: text, or bytes in base64. Blobs come before all facts. */
export const ExportBlob = z.union([z.strictObject({ blob: Hash, text: z.string() }), z.strictObject({ blob: Hash, base64: z.base64() })]);
export type ExportBlob = z.infer<typeof ExportBlob>;

/** A stored fact. Facts are in the order of the store; `data` is checked separately, by the schema of its type. */
export const ExportFact = z.strictObject({
  runId: RunId,
  seq: z.int().min(1),
  at: Instant,
  v: z.int().min(1),
  type: z.lazy(() => z.enum(factTypes())),
  data: z.unknown(),
  hash: Hash,
});
export type ExportFact = z.infer<typeof ExportFact>;
