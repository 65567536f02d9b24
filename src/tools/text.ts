/** Texts that come from elsewhere (names of files, pages, other runs), made fit for one place in a result. */

/** Names may hold line breaks, which would read as further entries. */
export function printable(name: string): string {
  return name
    .toWellFormed()
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

// C0 but tab and newline, DEL, C1, zero-width characters, bidirectional controls, invisible operators, tags.
const invisible =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** Takes away what a reader cannot see, for texts that no kernel looks at once more. */
export function visible(text: string): string {
  return text.toWellFormed().replace(/\r\n?/g, '\n').replace(invisible, '');
}

/** The same for results: joiners, which some letters and pictographs need, are left for the kernel to judge. */
export function readable(text: string): string {
  return text
    .split(/([\u200c\u200d])/)
    .map((part, index) => (index % 2 === 1 ? part : visible(part)))
    .join('');
}

/** Text of another run or page, each line marked: no line of it can pass for one of ours. */
export function quoted(text: string): string {
  return readable(text)
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n');
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** For schemas: a text of at most so many bytes of UTF-8. */
export function fits(bytes: number): [(text: string) => boolean, string] {
  return [(text) => Buffer.byteLength(text) <= bytes, `must be at most ${bytes} bytes`];
}
