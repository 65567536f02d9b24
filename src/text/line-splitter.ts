/** Splits what comes in into lines. Of a line that gets longer than `max` bytes nothing more is kept, and `onOverflow` is called once. */
export function lineReader(max: number, onLine: (line: Buffer) => void, onOverflow: () => void): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let size = 0;
  let over = false;
  return (chunk) => {
    let rest = chunk;
    while (!over && rest.length > 0) {
      const end = rest.indexOf(10);
      const part = end === -1 ? rest : rest.subarray(0, end);
      size += part.length;
      if (size > max) {
        over = true;
        parts = [];
        return onOverflow();
      }
      // Copied, because a small piece would hold on to all that came with it.
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
