import { z } from 'zod';

/** Ids of runs are 16 hex digits. */
export const RunId = z.string().regex(/^[0-9a-f]{16}$/, 'a run id has 16 hex digits');
export type RunId = z.infer<typeof RunId>;

/** A moment as ISO 8601 in UTC with milliseconds. */
export const Instant = z.iso.datetime({ precision: 3 });
export type Instant = z.infer<typeof Instant>;

/** SHA-256 in lower-case hex: of facts, blobs and requests. */
export const Hash = z.string().regex(/^[0-9a-f]{64}$/);
export type Hash = z.infer<typeof Hash>;
