// Canonical JSON (RFC 8785) and hashes of it.
//
// Facts are built with sorted keys, so `JSON.stringify` already returns canonical JSON for most values. Only values with unsorted keys, such as
// arguments written by a model, take the slower path.
import { createHmac, hash as digest } from 'node:crypto';
import type { Fact } from '../contract/fact.ts';

export function sha256(content: string | Uint8Array): string {
  return digest('sha256', content, 'hex');
}

export function hmacSha256(key: string, content: string): string {
  return createHmac('sha256', key).update(content).digest('hex');
}

let kept: { value: object; text: string } | null = null;

/** Keeps the canonical JSON of an object that no longer changes, until the next one: an outcome is part of the run's and of its parent's facts. */
export function keepCanonical(value: object): void {
  kept = { value, text: writeSorted(value) };
}

export function canonical(value: unknown): string {
  return isSorted(value) ? JSON.stringify(value) : writeSorted(value);
}

/** The hash of a fact: SHA-256 of its canonical JSON with the previous hash as `prev`. `text` is the canonical JSON of its data. */
export function factHash(fact: Omit<Fact, 'hash' | 'data'>, text: string, prev: string): string {
  return sha256(
    `{"at":"${fact.at}","data":${text},"prev":"${prev}","runId":"${fact.runId}","seq":${fact.seq},"type":"${fact.type}","v":${fact.v}}`,
  );
}

// JavaScript enumerates keys that look like array indices before all others, so their order says nothing.
const indexLike = /^(0|[1-9]\d{0,9})$/;

/** Cheaper than the pattern, which hardly any key matches. */
function startsWithDigit(key: string): boolean {
  const code = key.charCodeAt(0);
  return code >= 48 && code <= 57;
}

function isSorted(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (!isSorted(item)) return false;
    return true;
  }
  let last = '';
  for (const key in value) {
    if (key < last || (startsWithDigit(key) && indexLike.test(key))) return false;
    last = key;
    if (!isSorted((value as Record<string, unknown>)[key])) return false;
  }
  return true;
}

function writeSorted(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (kept?.value === value) return kept.text;
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value) text += text === '' ? writeSorted(item) : `,${writeSorted(item)}`;
    return `[${text}]`;
  }
  const record = value as Record<string, unknown>;
  for (const key of Object.keys(record).sort()) {
    const item = record[key];
    if (item !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${writeSorted(item)}`;
  }
  return `{${text}}`;
}
