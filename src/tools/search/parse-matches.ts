/** A matching line as ripgrep tells it. */
export interface Match {
  path: string;
  line: number;
  text: string;
}

/** A record without an end is not held beyond this: names and lines are shorter. */
const maxRecord = 65_536;

// Of a file in which it met a NUL ripgrep says so in a line that is no record.
const remark = /^(?:[^\0]*?: WARNING: stopped searching binary file[^\n\0]*\n|[^\0]*?: binary file matches[^\n\0]*\n)+/;

/**
 * Reads ripgrep's output: path, NUL, line number, colon, text, line break. A name may hold line breaks, so a record ends at the first
 * line break after its NUL.
 */
export function readMatches(each: (match: Match) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    const all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    for (;;) {
      const nul = all.indexOf(0, start);
      const end = nul === -1 ? -1 : all.indexOf(10, nul);
      if (end === -1) break;
      const path = all.toString('utf8', start, nul).replace(remark, '');
      const [, line, text] = /^(\d+):(.*)$/s.exec(all.toString('utf8', nul + 1, end)) ?? [];
      if (line !== undefined && text !== undefined)
        each({ path, line: Number(line), text: text.replace(/\r$/, '').replaceAll('\0', '\ufffd') });
      start = end + 1;
    }
    rest = all.length - start > maxRecord ? Buffer.alloc(0) : all.subarray(start);
  };
}
