// Parses server-sent events: returns the `data` of each complete event. Names, ids and comments are ignored.
//
// E1. No line and no answer is kept beyond its limit, however it is split into chunks.
// E2. A character that is split over chunks stays one; invalid bytes become U+FFFD.
// E3. An event ends at an empty line; an unfinished event is dropped.
import { StringDecoder } from 'node:string_decoder';
import { type Bounds, createBoundCheck } from './bounds.ts';

export interface EventReader {
  push(chunk: Buffer): void;
}

export function createEventReader(bounds: Bounds, onEvent: (data: string) => void): EventReader {
  const check = createBoundCheck(bounds.lineBytes, bounds.answerBytes);
  const decoder = new StringDecoder('utf8');
  let hasBegun = false;
  let afterReturn = false;
  /** The beginning of a line that is not complete yet. */
  let rest = '';
  let data: string | null = null;

  function takeLine(text: string): void {
    if (text === '') {
      const whole = data;
      data = null;
      if (whole !== null) onEvent(whole);
    } else if (text.startsWith('data:')) {
      const value = text.slice(text.charCodeAt(5) === space ? 6 : 5);
      data = data === null ? value : `${data}\n${value}`;
    } else if (text === 'data') {
      data = data === null ? '' : `${data}\n`;
    }
  }

  /** Converts line ends to line feeds; a CR LF pair may be split over chunks. */
  function normaliseLineEnds(text: string): string {
    const from = afterReturn && text.startsWith('\n') ? text.slice(1) : text;
    if (text !== '') afterReturn = text.endsWith('\r');
    return from.includes('\r') ? from.replace(/\r\n?/g, '\n') : from;
  }

  return {
    push(chunk) {
      check(chunk);
      let text = normaliseLineEnds(decoder.write(chunk));
      if (!hasBegun && text !== '') {
        hasBegun = true;
        if (text.startsWith('\ufeff')) text = text.slice(1);
      }
      let from = 0;
      // Only new text is searched, so that a long line is not searched again with each of its chunks.
      for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
        const found = rest === '' ? text.slice(from, end) : rest + text.slice(from, end);
        rest = '';
        from = end + 1;
        takeLine(found);
      }
      rest = rest === '' ? text.slice(from) : rest + text.slice(from);
    },
  };
}

const space = 32;
