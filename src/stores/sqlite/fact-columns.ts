// Columns of facts that are stored shorter than they are read: hashes as bytes, and moments as milliseconds. Databases of earlier versions have both as
// text, and so do moments that are not in the form that Retinue writes.
import { isoToMs, msToIso } from '../../text/instant.ts';

/** Facts that are recorded together have the same moment, so the last one is remembered. */
export function createInstantEncoder(): (iso: string) => string {
  let last = { iso: '', encoded: '' };
  return (iso) => {
    if (iso === last.iso) return last.encoded;
    const ms = isoToMs(iso);
    last = { iso, encoded: ms >= 0 && msToIso(ms) === iso ? String(ms) : iso };
    return last.encoded;
  };
}

const digits = /^\d{1,15}$/;

export function decodeInstant(stored: string): string {
  return digits.test(stored) ? msToIso(Number(stored)) : stored;
}

const hashBytes = 32;

export function encodeHash(hash: string): Buffer | string {
  const bytes = Buffer.from(hash, 'hex');
  return bytes.length === hashBytes && hash.length === 2 * hashBytes ? bytes : hash;
}

/** SQL that reads a hash as text. */
export function selectHash(column: string): string {
  return `CASE typeof(${column}) WHEN 'blob' THEN lower(hex(${column})) ELSE ${column} END`;
}
