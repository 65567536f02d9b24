/** Text of files and names on its way into a report: made plain, short and harmless. Nothing here looks at what it says. */

// C0, DEL, C1, zero-width characters and marks, bidirectional controls, invisible operators, tags.
const invisible =
  /[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** One line of visible characters, at most `max` of them. */
export function plain(text: string, max: number): string {
  // What is looked at is bounded first: a line of a file may be megabytes long.
  const flat = text
    .slice(0, max * 4 + 1000)
    .toWellFormed()
    .replace(/\s+/gu, ' ')
    .replace(invisible, '')
    .trim();
  if (flat.length <= max) return flat;
  return `${flat
    .slice(0, max - 1)
    .replace(/[\ud800-\udbff]$/, '')
    .trimEnd()}…`;
}

/** A code span: nothing inside it is markup. */
export function code(text: string, max = 200): string {
  const inner = plain(text, max).replaceAll('`', "'");
  return inner === '' ? '` `' : `\`${inner}\``;
}

/** Running text without its markup: no tags, no links, no images, nothing that begins a heading, a list or a table. */
export function prose(text: string, max: number): string {
  const bare = plain(text, max * 4)
    .replace(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/<[^<>]*>/g, '')
    .replace(/[<>`*[\]|\\]/g, '')
    .replace(/^[\s#>+=~-]+/, '');
  return plain(bare, max);
}

/** The first sentence, where there is one before the cut. */
export function sentence(text: string, max: number): string {
  const whole = prose(text, max * 2);
  const end = /[.!?:](?= [A-Z("'])/.exec(whole);
  return plain(end === null || end.index < 12 ? whole : whole.slice(0, end.index), max).replace(/[.:;,]$/, '');
}

/** The order of code units: the same on every machine. */
export function byName(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The counted things, the most frequent first; equals by name. */
export function ranked(counts: Iterable<readonly [string, number]>): [string, number][] {
  return Array.from(counts, ([name, count]): [string, number] => [name, count]).sort((a, b) => b[1] - a[1] || byName(a[0], b[0]));
}

export function addTo(counts: Map<string, number>, name: string, more = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + more);
}

export function number(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

export function counted(value: number, one: string, many = `${one}s`): string {
  return `${number(value)} ${value === 1 ? one : many}`;
}

export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

export function percent(part: number, whole: number): string {
  if (whole === 0) return '0 %';
  const share = (100 * part) / whole;
  return share > 0 && share < 1 ? '< 1 %' : `${Math.round(share)} %`;
}

/** Names joined by commas; past `max` only how many there are more. */
export function some(names: string[], max: number): string {
  const rest = names.length - max;
  return rest > 0 ? `${names.slice(0, max).join(', ')} and ${number(rest)} more` : names.join(', ');
}
