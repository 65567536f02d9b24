/**
 * Splits a byte stream into lines and bounds the memory that one line may take. It knows nothing of streams, encodings or JSON:
 * the caller feeds it chunks and decodes the lines.
 *
 *  1. At most `maxLineBytes` of a line are buffered. A longer line calls `onOverflow` once and stops the reader, wherever its end is; with
 *     `skipsLongLines` the reader drops the rest of that line and continues with the next.
 *  2. Lines end with a line feed, which is not part of the line. A carriage return before it is.
 *  3. A stopped reader calls nothing and holds no memory. `stop` may be called from inside `onLine`.
 *  4. If `onLine` throws, the reader stops and the error reaches the caller of `push` or `end`.
 */
export interface LineReader {
  push(chunk: Buffer): void;
  /** Delivers the last line if it has no line feed, and stops. */
  end(): void;
  stop(): void;
}

export interface LineReaderOptions {
  maxLineBytes: number;
  onLine(line: Buffer): void;
  onOverflow(): void;
  skipsLongLines?: boolean;
}

const lineFeed = 10;

export function createLineReader({ maxLineBytes, onLine, onOverflow, skipsLongLines = false }: LineReaderOptions): LineReader {
  let parts: Buffer[] = [];
  let size = 0;
  let isStopped = false;
  let isSkipping = false;

  function stop(): void {
    isStopped = true;
    parts = [];
    size = 0;
  }

  /** False if the line became too long; the reader has stopped then, or skips the rest of the line. */
  function buffer(part: Buffer): boolean {
    size += part.length;
    if (size <= maxLineBytes) {
      parts.push(part);
      return true;
    }
    stop();
    isStopped = !skipsLongLines;
    isSkipping = skipsLongLines;
    onOverflow();
    return false;
  }

  function deliver(): void {
    const line = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts, size);
    parts = [];
    size = 0;
    try {
      onLine(line);
    } catch (error) {
      stop();
      throw error;
    }
  }

  return {
    push(chunk) {
      let start = 0;
      for (let end = chunk.indexOf(lineFeed); end !== -1 && !isStopped; end = chunk.indexOf(lineFeed, start)) {
        const isWhole = !isSkipping && buffer(chunk.subarray(start, end));
        if (isStopped) return;
        start = end + 1;
        isSkipping = false;
        if (isWhole) deliver();
      }
      // Copied: a small rest would otherwise keep the whole chunk in memory.
      if (start < chunk.length && !isStopped && !isSkipping) buffer(Buffer.from(chunk.subarray(start)));
    },
    end() {
      if (size > 0) deliver();
      stop();
    },
    stop,
  };
}
