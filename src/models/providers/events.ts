// Server-sent events out of bytes: the `data` of each event, whole. Names, ids and comments are read over.
//
// E1. No line and no answer is kept past its bounds, however it is cut into chunks.
// E2. Characters that are cut over chunks come whole; bytes that are none become U+FFFD.
// E3. An event counts with the empty line after it: one that breaks off is none.
import { StringDecoder } from 'node:string_decoder';
import { type Bounds, createBoundCheck } from './bounds.ts';

export interface EventReader {
  push(chunk: Buffer): void;
}

export function createEventReader(bounds: Bounds, event: (data: string) => void): EventReader {
  const check = createBoundCheck(bounds.lineBytes, bounds.answerBytes);
  const decoder = new StringDecoder('utf8');
  let begun = false;
  let afterReturn = false;
  /** The line that has not ended yet. */
  let rest = '';
  let data: string | null = null;

  function line(text: string): void {
    if (text === '') {
      const whole = data;
      data = null;
      if (whole !== null) event(whole);
    } else if (text.startsWith('data:')) {
      const value = text.slice(text.charCodeAt(5) === space ? 6 : 5);
      data = data === null ? value : `${data}\n${value}`;
    } else if (text === 'data') {
      data = data === null ? '' : `${data}\n`;
    }
  }

  /** Line ends as line feeds alone; a pair may be cut over chunks. */
  function withLineFeeds(text: string): string {
    const from = afterReturn && text.startsWith('\n') ? text.slice(1) : text;
    if (text !== '') afterReturn = text.endsWith('\r');
    return from.includes('\r') ? from.replace(/\r\n?/g, '\n') : from;
  }

  return {
    push(chunk) {
      check(chunk);
      let text = withLineFeeds(decoder.write(chunk));
      if (!begun && text !== '') {
        begun = true;
        if (text.startsWith('\ufeff')) text = text.slice(1);
      }
      let from = 0;
      // Only what is new is searched, so that a long line is not searched again with each chunk of it.
      for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
        const found = rest === '' ? text.slice(from, end) : rest + text.slice(from, end);
        rest = '';
        from = end + 1;
        line(found);
      }
      rest = rest === '' ? text.slice(from) : rest + text.slice(from);
    },
  };
}

const space = 32;
