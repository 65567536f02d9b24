// A parser for server-sent events (the `text/event-stream` format of the HTML standard). Text in, messages out: it knows no network and no
// clock. Its work is linear in the text, however the text is cut into pieces.

/** One event. `id` is null if the event has none; `data` is empty for an event that only has an id. */
export interface SseMessage {
  id: string | null;
  event: string;
  data: string;
}

export interface SseParser {
  /** The messages that this piece of text completes. An incomplete last message is dropped with the parser. Throws if a message is too large. */
  push(text: string): SseMessage[];
  /** The reconnection time in milliseconds that the server asked for; null if it asked for none. */
  retryMs(): number | null;
}

const maxMessageChars = 64 * 1024 * 1024;

export function createSseParser(options: { maxChars?: number } = {}): SseParser {
  const { maxChars = maxMessageChars } = options;
  const lineEnd = /[\r\n]/g;
  /** The beginning of a line whose end has not arrived. Pieces are joined once, so that a long line costs linear time. */
  let pieces: string[] = [];
  let isFirstLine = true;
  /** The last piece ended with CR, so an LF at the start of the next one belongs to it. */
  let isAfterCr = false;
  let retryMs: number | null = null;
  let size = 0;
  let id: string | null = null;
  let event = '';
  let data: string[] = [];

  function push(text: string): SseMessage[] {
    const messages: SseMessage[] = [];
    let start = 0;
    while (start < text.length) {
      if (isAfterCr) {
        isAfterCr = false;
        if (text[start] === '\n') {
          start++;
          continue;
        }
      }
      lineEnd.lastIndex = start;
      const end = lineEnd.exec(text)?.index ?? -1;
      addPiece(text.slice(start, end < 0 ? undefined : end));
      if (end < 0) break;
      isAfterCr = text[end] === '\r';
      start = end + 1;
      const message = endLine();
      if (message) messages.push(message);
    }
    return messages;
  }

  function addPiece(piece: string): void {
    size += piece.length;
    if (size > maxChars) throw new RangeError(`an event of the stream is larger than ${maxChars} characters`);
    if (piece !== '') pieces.push(piece);
  }

  function endLine(): SseMessage | null {
    let line = pieces.length === 1 ? (pieces[0] as string) : pieces.join('');
    pieces = [];
    if (isFirstLine && line.startsWith('\ufeff')) line = line.slice(1);
    isFirstLine = false;
    if (line === '') return endMessage();
    // A comment is no part of a message: a connection may have any number of them.
    if (line.startsWith(':')) size -= line.length;
    else readField(line);
    return null;
  }

  function readField(line: string): void {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'data') data.push(value);
    else if (name === 'event') event = value;
    else if (name === 'id' && !value.includes('\0')) id = value;
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) retryMs = Number(value);
  }

  function endMessage(): SseMessage | null {
    const message = { id, event: event || 'message', data: data.join('\n') };
    const isEmpty = data.length === 0 && id === null;
    size = 0;
    id = null;
    event = '';
    data = [];
    return isEmpty ? null : message;
  }

  return { push, retryMs: () => retryMs };
}
