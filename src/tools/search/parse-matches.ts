// Parses the output of ripgrep.

/** A matching line. */
export interface Match {
  path: string;
  line: number;
  text: string;
}

/** An unfinished record longer than this is dropped; names and lines are shorter. */
const maxRecord = 65_536;

// For a file with a NUL byte ripgrep writes a message that is not a record.
const binaryMessage = /^(?:[^\0]*?: WARNING: stopped searching binary file[^\n\0]*\n|[^\0]*?: binary file matches[^\n\0]*\n)+/;

/**
 * A record is: path, NUL, line number, colon, text, line break. A name may contain line breaks, so a record ends at the first line break after its NUL.
 * Pass chunks to the returned function.
 */
export function createMatchParser(onMatch: (match: Match) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    const all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    for (;;) {
      const nul = all.indexOf(0, start);
      const end = nul === -1 ? -1 : all.indexOf(10, nul);
      if (end === -1) break;
      const path = all.toString('utf8', start, nul).replace(binaryMessage, '');
      const [, line, text] = /^(\d+):(.*)$/s.exec(all.toString('utf8', nul + 1, end)) ?? [];
      if (line !== undefined && text !== undefined)
        onMatch({ path, line: Number(line), text: text.replace(/\r$/, '').replaceAll('\0', '\ufffd') });
      start = end + 1;
    }
    rest = all.length - start > maxRecord ? Buffer.alloc(0) : all.subarray(start);
  };
}
