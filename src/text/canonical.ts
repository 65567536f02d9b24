// Canonical JSON (RFC 8785) and the hashes over it.
//
// Facts are built with sorted keys, so that `JSON.stringify` is already canonical; what models and tools write is checked on the
// way and only re-ordered where it has to be.
import { hash as digest } from 'node:crypto';
import type { Fact } from '../contract/fact.ts';

export function sha256(text: string): string {
  return digest('sha256', text, 'hex');
}

/** Texts of objects that stand in more than one fact and are never changed: an outcome is told to the parent as it is recorded. */
const texts = new WeakMap<object, string>();

/** Keeps the canonical JSON of an object that no longer changes, for when it is written again. */
export function keepCanonical(value: object): void {
  texts.set(value, write(value));
}

export function canonical(value: unknown): string {
  return isOrdered(value) ? JSON.stringify(value) : write(value);
}

/** The hash of a fact: over its canonical JSON with the hash before it as `prev`. `text` is the canonical JSON of its data. */
export function factHash(fact: Omit<Fact, 'hash' | 'data'>, text: string, prev: string): string {
  return sha256(
    `{"at":"${fact.at}","data":${text},"prev":"${prev}","runId":"${fact.runId}","seq":${fact.seq},"type":"${fact.type}","v":${fact.v}}`,
  );
}

// Keys that look like array indices are enumerated before all others, whatever order they were written in.
const indexLike = /^(0|[1-9]\d{0,9})$/;

function isOrdered(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (!isOrdered(item)) return false;
    return true;
  }
  let last = '';
  for (const key in value) {
    if (key < last || indexLike.test(key)) return false;
    last = key;
    if (!isOrdered((value as Record<string, unknown>)[key])) return false;
  }
  return true;
}

function write(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const known = texts.get(value);
  if (known !== undefined) return known;
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value) text += text === '' ? write(item) : `,${write(item)}`;
    return `[${text}]`;
  }
  const record = value as Record<string, unknown>;
  for (const key of Object.keys(record).sort()) {
    const item = record[key];
    if (item !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${write(item)}`;
  }
  return `{${text}}`;
}
