// Removes secrets from a text that comes in pieces, such as a model's answer while it streams. The end of the text is held back for as long as it may be
// the beginning of a secret; the rest is redacted and passed on. What is held back at the end of an answer is never passed on: the recorded
// answer replaces the pieces.
import type { Redact, RedactStream } from '../ports/secrets.ts';

/** A text with its escapes decoded, and where each of its characters begins in the original. */
interface Decoded {
  text: string;
  starts: number[];
}

const escapedUnit = /\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(["/nrtbf]))|\\+/g;
/** An escape whose end has not arrived. */
const openEscape = /\\+(?:u[0-9a-fA-F]{0,3}|x[0-9a-fA-F]?)?$/;
const shortEscapes: Record<string, string> = { '"': '"', '/': '/', n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };
/** An escape of JSON inside JSON inside JSON. */
const maxEscapeLength = 16;

export function createRedactStream(values: string[], redact: Redact): RedactStream {
  const longest = Math.max(0, ...values.map((value) => value.length));
  return () => {
    let pending = '';
    return (piece) => {
      pending += piece;
      const cut = findOpenSecret(pending, values, longest);
      const ready = pending.slice(0, cut);
      pending = pending.slice(cut);
      return ready === '' ? '' : redact(ready, false);
    };
  };
}

/** Where the end of the text may begin a secret, in any escaped form; the length of the text if it does not. */
function findOpenSecret(text: string, values: string[], longest: number): number {
  if (longest === 0) return text.length;
  const open = openEscape.exec(text.slice(-maxEscapeLength));
  const end = open === null ? text.length : text.length - open[0].length;
  const from = Math.max(0, end - longest * maxEscapeLength);
  const plain = text.includes('\\') ? decode(text.slice(from, end)) : { text: text.slice(Math.max(0, end - longest), end), starts: [] };
  const offset = plain.starts.length === 0 ? end - plain.text.length : from;
  let cut = end;
  for (const value of values) {
    const start = findOverlap(plain.text, value);
    if (start < plain.text.length) cut = Math.min(cut, offset + (plain.starts[start] ?? start));
  }
  return open === null ? cut : Math.min(cut, end);
}

/** The first index from which the rest of the text is a proper beginning of the value; the length of the text if there is none. */
function findOverlap(text: string, value: string): number {
  const first = Math.max(0, text.length - value.length + 1);
  for (let at = text.indexOf(value[0] as string, first); at !== -1; at = text.indexOf(value[0] as string, at + 1))
    if (value.startsWith(text.slice(at))) return at;
  return text.length;
}

function decode(text: string): Decoded {
  const starts: number[] = [];
  let plain = '';
  let done = 0;
  const addPlain = (to: number) => {
    for (; done < to; done++) {
      plain += text[done];
      starts.push(done);
    }
  };
  for (const match of text.matchAll(escapedUnit)) {
    addPlain(match.index);
    const [whole, unicode, byte, short] = match;
    const code = unicode ?? byte;
    plain += code !== undefined ? String.fromCharCode(Number.parseInt(code, 16)) : (shortEscapes[short ?? ''] ?? '\\');
    starts.push(match.index);
    done = match.index + whole.length;
  }
  addPlain(text.length);
  return { text: plain, starts };
}
