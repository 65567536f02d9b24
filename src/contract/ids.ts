import { z } from 'zod';

/** The id of a run: 16 hex digits. */
export const RunId = z.string().regex(/^[0-9a-f]{16}$/, 'a run id has 16 hex digits');
export type RunId = z.infer<typeof RunId>;

/** A moment in ISO 8601, in UTC, with milliseconds. */
export const Instant = z.iso.datetime({ precision: 3 });
export type Instant = z.infer<typeof Instant>;

/** A SHA-256 hash in lower-case hex. */
export const Hash = z.string().regex(/^[0-9a-f]{64}$/);
export type Hash = z.infer<typeof Hash>;
