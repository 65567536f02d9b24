// Removes the secrets of this process from texts, by value and by shape (ports/secrets.ts).
//
// 1. A value is also found with JSON escapes (`\"`, `\u0041`, `\x41`), also where JSON is inside JSON.
// 2. In tool results, the rest of a value is removed where a tool has cut through it: its beginning before a cut mark (`…`), its end after one.
import type { Redact, RedactStream } from '../ports/secrets.ts';
import { createRedactStream } from './redact-stream.ts';
import { redactSecretShapes } from './secret-shapes.ts';
import { findSecretValues, type KnownSecrets, type SecretValue } from './secret-values.ts';
import type { Env } from './user-folders.ts';

/** Shorter rests say too little to matter, and match ordinary text. */
const minRest = 4;
/** The most spaces and brackets between a text and the mark of its cut. */
const maxMark = 4;

export interface Redaction {
  redact: Redact;
  redactStream: RedactStream;
}

export function createRedact(env: Env, known: Partial<KnownSecrets> = {}): Redact {
  return createRedaction(env, known).redact;
}

export function createRedaction(env: Env, known: Partial<KnownSecrets> = {}): Redaction {
  const values = findSecretValues(env, known);
  const redact = createValueRedact(values);
  return { redact, redactStream: createRedactStream([...new Set(values.map(({ value }) => value))], redact) };
}

function createValueRedact(values: SecretValue[]): Redact {
  const secrets = values.map((secret) => ({ ...secret, placeholder: `[secret ${secret.name}]`, escaped: null }));
  return (text, isResult) => {
    let clean = text;
    for (const secret of secrets) {
      if (clean.includes(secret.value)) clean = clean.replaceAll(secret.value, secret.placeholder);
      if (clean.includes('\\')) clean = clean.replace(escapedForm(secret), secret.placeholder);
      if (isResult && clean.includes('…')) clean = redactCutValue(clean, secret);
    }
    return isResult ? redactSecretShapes(clean) : clean;
  };
}

type Secret = SecretValue & { placeholder: string; escaped: RegExp | null };

const shortEscapes: Record<string, string> = { '"': '"', '/': '/', '\n': 'n', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f' };
/** One backslash, or several if the text was escaped more than once. */
const backslashes = '\\\\+';

/** Matches the value with any of its UTF-16 units escaped as in JSON or JavaScript. Compiled once. */
function escapedForm(secret: Secret): RegExp {
  secret.escaped ??= new RegExp(
    Array.from({ length: secret.value.length }, (_, index) => unitForm(secret.value[index] as string)).join(''),
    'g',
  );
  return secret.escaped;
}

function unitForm(unit: string): string {
  const code = unit.charCodeAt(0);
  const hex = code.toString(16).padStart(4, '0');
  const forms = [unit === '\\' ? backslashes : escapeRegex(unit), `${backslashes}u${anyCase(hex)}`];
  if (code < 256) forms.push(`${backslashes}x${anyCase(hex.slice(2))}`);
  const short = shortEscapes[unit];
  if (short !== undefined) forms.unshift(`${backslashes}${short}`);
  return `(?:${forms.join('|')})`;
}

function anyCase(hex: string): string {
  return hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

function escapeRegex(unit: string): string {
  return /[\\^$.*+?()[\]{}|/]/.test(unit) ? `\\${unit}` : unit;
}

const beforeMark = /[ \n[]*$/;
const afterMark = /^[\]\n]*/;

/** Removes what a cut left of the value: its beginning before a `…`, and its end after one. */
function redactCutValue(text: string, { value, placeholder }: Secret): string {
  const pieces = text.split('…');
  return pieces
    .map((piece, index) => {
      let clean = piece;
      if (index > 0) {
        const mark = afterMark.exec(clean)?.[0].length ?? 0;
        const head = clean.slice(mark, mark + value.length);
        const rest = longestRest(value, (length) => head.startsWith(value.slice(-length)));
        if (rest > 0) clean = clean.slice(0, mark) + placeholder + clean.slice(mark + rest);
      }
      if (index < pieces.length - 1) {
        const tail = clean.slice(-(value.length + maxMark));
        const end = tail.replace(beforeMark, '');
        const rest = longestRest(value, (length) => end.endsWith(value.slice(0, length)));
        const mark = tail.slice(end.length);
        if (rest > 0) clean = clean.slice(0, clean.length - mark.length - rest) + placeholder + mark;
      }
      return clean;
    })
    .join('…');
}

/** The length of the longest part of the value that `isThere` finds, or 0. */
function longestRest(value: string, isThere: (length: number) => boolean): number {
  for (let length = value.length - 1; length >= minRest; length--) if (isThere(length)) return length;
  return 0;
}
