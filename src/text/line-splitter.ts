// Splits a byte stream into lines of bounded length.

const newline = 10;

/**
 * Pass chunks to the returned function; `onLine` gets each line without its line break. A line longer than `max` bytes ends the splitting: `onOverflow` is
 * called once and nothing more is kept.
 */
export function createLineSplitter(max: number, onLine: (line: Buffer) => void, onOverflow: () => void): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let size = 0;
  let hasOverflowed = false;
  return (chunk) => {
    let rest = chunk;
    while (!hasOverflowed && rest.length > 0) {
      const end = rest.indexOf(newline);
      const part = end === -1 ? rest : rest.subarray(0, end);
      size += part.length;
      if (size > max) {
        hasOverflowed = true;
        parts = [];
        return onOverflow();
      }
      // Copied, because a small part would keep the whole chunk in memory.
      parts.push(end === -1 ? Buffer.from(part) : part);
      if (end === -1) return;
      const line = parts.length === 1 ? part : Buffer.concat(parts);
      parts = [];
      size = 0;
      onLine(line);
      rest = rest.subarray(end + 1);
    }
  };
}
