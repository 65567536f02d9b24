// What a provider may send, whichever way it is read, and what is no provider at all.
//
// F1. No line and no answer is read past its limit: a provider that never ends a line costs a few megabytes and gets a typed failure.
// F2. A page for a browser is no answer: the address is wrong, and asking again does not mend it.
// F3. A redirect is not followed: the key would go along to another host.
import { RetinueError } from '../../contract/error.ts';

export interface Bounds {
  lineBytes: number;
  answerBytes: number;
  /** For answers that only say what went wrong. */
  errorBytes: number;
}

const mib = 1024 * 1024;
export const defaultBounds: Bounds = { lineBytes: 16 * mib, answerBytes: 64 * mib, errorBytes: mib };

/** What is wrong with an answer that begins like this (F2, F3); null: nothing. */
export function refusalOf(head: { status: number; contentType: string; location: string; url: string }): RetinueError | null {
  if (head.status >= 300 && head.status < 400) {
    const to = URL.parse(head.location, head.url || undefined);
    const where = to === null ? '' : ` to ${to.origin}`;
    return new RetinueError('provider', `the provider redirects${where}; set the base address to where it really is`);
  }
  const page = isOk(head.status) && /^text\/html/i.test(head.contentType);
  return page ? new RetinueError('provider', 'there is a web page at the base address, not a provider') : null;
}

export function isOk(status: number): boolean {
  return status >= 200 && status < 300;
}

const newline = 10;

/** Throws at the first byte too many. */
export function createBoundCheck(lineBytes: number, allBytes: number): (chunk: Uint8Array) => void {
  let all = 0;
  let line = 0;
  return (chunk) => {
    all += chunk.length;
    let from = 0;
    if (line + chunk.length > lineBytes) {
      for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
        if (line + end - from > lineBytes) throw tooLarge('a line of the answer', lineBytes);
        line = 0;
        from = end + 1;
      }
    } else {
      // No line in it can be too long: only where the last one begins matters.
      from = chunk.lastIndexOf(newline) + 1;
      if (from > 0) line = 0;
    }
    line += chunk.length - from;
    if (line > lineBytes) throw tooLarge('a line of the answer', lineBytes);
    if (all > allBytes) throw tooLarge('the answer', allBytes);
  };
}

function tooLarge(what: string, limit: number): RetinueError {
  return new RetinueError('provider', `${what} is larger than ${limit} bytes`);
}
