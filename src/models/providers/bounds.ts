// Limits on what a provider may send, for both ways of reading it.
//
// F1. No line and no answer is read beyond its limit: a provider that never ends a line costs a few megabytes and fails with a typed error.
// F2. A web page is no answer: the address is wrong, and a retry does not help.
// F3. Redirects are not followed, because they would send the key to another host.
import { RetinueError } from '../../contract/error.ts';

export interface Bounds {
  lineBytes: number;
  answerBytes: number;
  /** For the bodies of error responses. */
  errorBytes: number;
}

const mib = 1024 * 1024;
export const defaultBounds: Bounds = { lineBytes: 16 * mib, answerBytes: 64 * mib, errorBytes: mib };

/** Null if the head of a response is acceptable (F2, F3). */
export function findRefusal(head: { status: number; contentType: string; location: string; url: string }): RetinueError | null {
  if (head.status >= 300 && head.status < 400) {
    const to = URL.parse(head.location, head.url || undefined);
    const where = to === null ? '' : ` to ${to.origin}`;
    return new RetinueError('provider', `the provider redirects${where}; set the base address to that server`);
  }
  const isPage = isOk(head.status) && /^text\/html/i.test(head.contentType);
  return isPage ? new RetinueError('provider', 'the base address leads to a web page, not to a provider; check it') : null;
}

export function isOk(status: number): boolean {
  return status >= 200 && status < 300;
}

const newline = 10;

/** Throws at the first byte beyond a limit. */
export function createBoundCheck(lineBytes: number, allBytes: number): (chunk: Uint8Array) => void {
  let all = 0;
  let line = 0;
  return (chunk) => {
    all += chunk.length;
    let from = 0;
    if (line + chunk.length > lineBytes) {
      for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
        if (line + end - from > lineBytes) throw createSizeError('a line of the answer', lineBytes);
        line = 0;
        from = end + 1;
      }
    } else {
      // No line in this chunk can be too long: only the start of the last one matters.
      from = chunk.lastIndexOf(newline) + 1;
      if (from > 0) line = 0;
    }
    line += chunk.length - from;
    if (line > lineBytes) throw createSizeError('a line of the answer', lineBytes);
    if (all > allBytes) throw createSizeError('the answer', allBytes);
  };
}

function createSizeError(what: string, limit: number): RetinueError {
  return new RetinueError('provider', `${what} is larger than ${limit} bytes`);
}
