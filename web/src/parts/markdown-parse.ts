// The part of Markdown that models use, as data. It knows no HTML: tags stay text. Time is proportional to the length of the text, apart from
// bounded searches for closing marks.

export type Inline =
  | string
  | { type: 'code'; text: string }
  | { type: 'strong' | 'emphasis' | 'strike'; children: Inline[] }
  | { type: 'link'; href: string; children: Inline[] };

export type Block =
  | { type: 'heading'; level: number; children: Inline[] }
  | { type: 'paragraph'; children: Inline[] }
  | { type: 'code'; language: string; text: string }
  | { type: 'quote'; blocks: Block[] }
  | { type: 'list'; start: number | null; items: Block[][] }
  | { type: 'table'; head: Inline[][]; rows: Inline[][][] }
  | { type: 'rule' };

const maxDepth = 6;

export function parseMarkdown(text: string, depth = 0): Block[] {
  const lines = text.split('\n');
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] as string;
    if (line.trim() === '') {
      at++;
      continue;
    }
    const { block, next } = readBlock(lines, at, depth);
    blocks.push(block);
    at = next;
  }
  return blocks;
}

interface ReadBlock {
  block: Block;
  next: number;
}

const itemPattern = /^(\s*)([-*+]|\d{1,9}[.)])\s+/;

function readBlock(lines: string[], at: number, depth: number): ReadBlock {
  const line = lines[at] as string;
  const fence = /^\s{0,3}(`{3,}|~{3,})\s*([^`]*)$/.exec(line);
  if (fence) return readFence(lines, at, { mark: fence[1] as string, language: (fence[2] as string).trim() });
  const heading = /^\s{0,3}(#{1,6})\s+(.*?)\s*#*$/.exec(line);
  if (heading)
    return { block: { type: 'heading', level: (heading[1] as string).length, children: parseInline(heading[2] as string) }, next: at + 1 };
  if (/^\s{0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) return { block: { type: 'rule' }, next: at + 1 };
  if (depth < maxDepth) {
    if (/^\s{0,3}>/.test(line)) return readQuote(lines, at, depth);
    if (itemPattern.test(line)) return readList(lines, at, depth);
  }
  if (line.includes('|') && isTableRule(lines[at + 1] ?? '')) return readTable(lines, at);
  return readParagraph(lines, at);
}

function readFence(lines: string[], at: number, { mark, language }: { mark: string; language: string }): ReadBlock {
  let end = at + 1;
  while (end < lines.length && !(lines[end] as string).trim().startsWith(mark)) end++;
  return { block: { type: 'code', language, text: lines.slice(at + 1, end).join('\n') }, next: end + 1 };
}

function readQuote(lines: string[], at: number, depth: number): ReadBlock {
  let end = at;
  while (end < lines.length && /^\s{0,3}>/.test(lines[end] as string)) end++;
  const inner = lines.slice(at, end).map((line) => line.replace(/^\s{0,3}>\s?/, ''));
  return { block: { type: 'quote', blocks: parseMarkdown(inner.join('\n'), depth + 1) }, next: end };
}

/** Lines that are indented further than the mark belong to the item. */
function readList(lines: string[], at: number, depth: number): ReadBlock {
  const first = itemPattern.exec(lines[at] as string) as RegExpExecArray;
  const indent = (first[1] as string).length;
  const isOrdered = /\d/.test(first[2] as string);
  const items: string[][] = [];
  let end = at;
  for (; end < lines.length; end++) {
    const line = lines[end] as string;
    const item = itemPattern.exec(line);
    if (item && (item[1] as string).length <= indent + 1) {
      if ((item[1] as string).length < indent || /\d/.test(item[2] as string) !== isOrdered) break;
      items.push([line.slice(item[0].length)]);
    } else if (line.trim() === '') {
      const following = lines[end + 1] ?? '';
      if (!itemPattern.test(following) && !following.startsWith(' '.repeat(indent + 2))) break;
      items.at(-1)?.push('');
    } else if (line.startsWith(' '.repeat(indent + 2)) || !startsBlock(line))
      items.at(-1)?.push(line.slice(Math.min(indent + 2, leading(line))));
    else break;
  }
  const start = isOrdered ? Number.parseInt(first[2] as string, 10) : null;
  return { block: { type: 'list', start, items: items.map((item) => parseMarkdown(item.join('\n'), depth + 1)) }, next: end };
}

function leading(line: string): number {
  return line.length - line.trimStart().length;
}

function isTableRule(line: string): boolean {
  return line.includes('-') && /^\s*\|?(\s*:?-+:?\s*\|)*\s*:?-+:?\s*\|?\s*$/.test(line) && line.includes('|');
}

function readTable(lines: string[], at: number): ReadBlock {
  const cells = (line: string) =>
    line
      .trim()
      .replace(/^\||\|$/g, '')
      .split('|')
      .map((cell) => parseInline(cell.trim()));
  let end = at + 2;
  while (end < lines.length && (lines[end] as string).includes('|')) end++;
  return { block: { type: 'table', head: cells(lines[at] as string), rows: lines.slice(at + 2, end).map(cells) }, next: end };
}

function readParagraph(lines: string[], at: number): ReadBlock {
  let end = at + 1;
  while (end < lines.length && (lines[end] as string).trim() !== '' && !startsBlock(lines[end] as string)) end++;
  return { block: { type: 'paragraph', children: parseInline(lines.slice(at, end).join('\n')) }, next: end };
}

function startsBlock(line: string): boolean {
  return /^\s{0,3}(#{1,6}\s|`{3,}|~{3,}|>)/.test(line) || itemPattern.test(line);
}

/** How far a closing mark may be. */
const maxSpan = 2_000;
const maxNesting = 4;
const marks = [
  { mark: '**', type: 'strong' },
  { mark: '__', type: 'strong' },
  { mark: '~~', type: 'strike' },
  { mark: '*', type: 'emphasis' },
  { mark: '_', type: 'emphasis' },
] as const;

export function parseInline(text: string, nesting = 0): Inline[] {
  const parts: Inline[] = [];
  let plain = '';
  let at = 0;
  const push = (part: Inline, length: number) => {
    if (plain !== '') parts.push(plain);
    plain = '';
    parts.push(part);
    at += length;
  };
  while (at < text.length) {
    const found = nesting < maxNesting ? readInline(text, at, nesting) : null;
    if (found) push(found.part, found.length);
    else if (text[at] === '\\' && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? '')) {
      plain += text[at + 1];
      at += 2;
    } else plain += text[at++];
  }
  if (plain !== '') parts.push(plain);
  return parts;
}

function readInline(text: string, at: number, nesting: number): { part: Inline; length: number } | null {
  switch (text[at]) {
    case '`':
      return readCode(text, at);
    case '[':
      return readLink(text, at, nesting);
    case 'h':
      return readAddress(text, at);
    case '*':
    case '_':
    case '~':
      return readMarked(text, at, nesting);
    default:
      return null;
  }
}

function readCode(text: string, at: number): { part: Inline; length: number } | null {
  const fence = /^`+/.exec(text.slice(at, at + 10))?.[0] as string;
  const end = text.slice(at + fence.length, at + maxSpan).indexOf(fence);
  if (end <= 0) return null;
  const inner = text.slice(at + fence.length, at + fence.length + end);
  return { part: { type: 'code', text: inner.length > 2 ? inner.replace(/^ (.*) $/s, '$1') : inner }, length: end + 2 * fence.length };
}

function readLink(text: string, at: number, nesting: number): { part: Inline; length: number } | null {
  const match = /^\[([^\]\n]{1,500})\]\(\s*([^)\s]{1,2000})(?:\s+"[^"\n]{0,200}")?\s*\)/.exec(text.slice(at, at + maxSpan + 800));
  if (match === null) return null;
  const href = toSafeAddress(match[2] as string);
  const children = parseInline(match[1] as string, nesting + 1);
  // The address of a link that cannot be followed stays visible.
  if (href === null) return { part: { type: 'code', text: match[0] }, length: match[0].length };
  return { part: { type: 'link', href, children }, length: match[0].length };
}

function readAddress(text: string, at: number): { part: Inline; length: number } | null {
  if (at > 0 && /\w/.test(text[at - 1] as string)) return null;
  const match = /^https?:\/\/[^\s<>"'`)\]}]{1,2000}/.exec(text.slice(at, at + maxSpan));
  const shown = match?.[0].replace(/[.,;:!?]+$/, '');
  const href = shown === undefined ? null : toSafeAddress(shown);
  return href === null || shown === undefined ? null : { part: { type: 'link', href, children: [shown] }, length: shown.length };
}

function readMarked(text: string, at: number, nesting: number): { part: Inline; length: number } | null {
  for (const { mark, type } of marks) {
    if (!text.startsWith(mark, at)) continue;
    const start = at + mark.length;
    // `a * b` and `snake_case` are no emphasis.
    if (/\s/.test(text[start] ?? ' ')) return null;
    if (mark.startsWith('_') && at > 0 && /\w/.test(text[at - 1] as string)) return null;
    const inside = text.slice(start, start + maxSpan);
    let end = inside.indexOf(mark);
    // In `**a *b***`, the first of the three marks closes the inner one.
    while (end > 0 && mark.length === 2 && inside[end + 2] === mark[0]) end++;
    if (end <= 0 || /\s/.test(inside[end - 1] as string) || inside.slice(0, end).includes('\n\n')) continue;
    return { part: { type, children: parseInline(inside.slice(0, end), nesting + 1) }, length: end + 2 * mark.length };
  }
  return null;
}

/** Only addresses of web pages; null for everything else, such as `javascript:` or a path of this server. */
export function toSafeAddress(text: string): string | null {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return null;
  const { protocol, href } = new URL(text);
  return protocol === 'https:' || protocol === 'http:' ? href : null;
}
