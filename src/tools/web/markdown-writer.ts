// Writes the Markdown of a page.
import { MarkdownFrame } from './markdown-frame.ts';

/** Deeper quotes and lists are not indented further, because every line repeats the whole indent. */
const maxIndent = 8;

interface List {
  kind: 'ul' | 'ol';
  next: number;
}

/**
 * Writes Markdown in the order of the tags of a page. The text inside a tag is collected in a frame of its own and added to the frame below when the tag
 * ends. Nothing is escaped: the result is for reading, not for rendering.
 */
export class MarkdownWriter {
  #frames: MarkdownFrame[] = [new MarkdownFrame('')];
  #raw = 0;
  #indent: string[] = [];
  #lists: List[] = [];
  /** Replaces the last indent once. */
  #bullet: string | null = null;
  #cells: string[] | null = null;
  #rows = 0;
  /** Characters written so far; the caller bounds memory with it. */
  length = 0;

  text(raw: string): void {
    const frame = this.#top;
    let text = raw;
    if (this.#raw === 0) {
      text = raw.replace(/[ \t\n\r\f]+/g, ' ');
      if (text.startsWith(' ') && frame.isAtStart) {
        frame.spaceBefore ||= frame.isEmpty;
        text = text.slice(1);
      }
    }
    if (text !== '') this.#put(text);
  }

  heading(level: number): void {
    this.#breakLines(2);
    this.#put(`${'#'.repeat(level)} `);
  }

  block(name: string): void {
    this.#breakLines(this.#lists.length > 0 || name === 'dt' || name === 'dd' || name === 'summary' ? 1 : 2);
    if (name === 'table') this.#rows = 0;
  }

  line(): void {
    if (this.#raw > 0) this.#put('\n');
    else this.#breakLines(1);
  }

  rule(): void {
    this.#breakLines(2);
    this.#put('---');
    this.#breakLines(2);
  }

  list(kind: 'ul' | 'ol', start: number): void {
    this.#lists.push({ kind, next: start });
  }

  closeList(): void {
    this.#lists.pop();
    this.#breakLines(this.#lists.length > 0 ? 1 : 2);
  }

  item(): void {
    const list = this.#lists.at(-1);
    this.#breakLines(1);
    this.#bullet = list?.kind === 'ol' ? `${list.next++}. ` : '- ';
    this.#indent.push(' '.repeat(this.#bullet.length));
  }

  closeItem(): void {
    this.#indent.pop();
    this.#bullet = null;
    this.#breakLines(1);
  }

  quote(): void {
    this.#breakLines(2);
    this.#indent.push('> ');
  }

  closeQuote(): void {
    this.#indent.pop();
    this.#breakLines(2);
  }

  image(alt: string | undefined, address: string | null): void {
    if (alt?.trim() && address !== null) this.text(`![${alt.trim()}](${address})`);
  }

  row(): void {
    this.#cells ??= [];
  }

  closeCell(name: string): void {
    const frame = this.#end(name);
    if (frame !== null) this.#cells?.push(oneLine(frame.text()).replaceAll('|', '\\|'));
  }

  closeRow(): void {
    const cells = this.#cells;
    this.#cells = null;
    if (cells === null || cells.every((cell) => cell === '')) return;
    this.#breakLines(this.#rows === 0 ? 2 : 1);
    this.#put(`| ${cells.join(' | ')} |`);
    if (this.#rows++ > 0) return;
    this.#breakLines(1);
    this.#put(`|${' --- |'.repeat(cells.length)}`);
  }

  push(tag: string): void {
    if (tag === 'pre') this.#breakLines(2);
    this.#frames.push(new MarkdownFrame(tag));
    if (tag === 'pre') this.#raw++;
  }

  address(address: string | null): void {
    this.#top.address = address;
  }

  /** Ends a frame. `wrap` gets its text without surrounding blanks; text of several lines and code are not wrapped. */
  pop(tag: string, wrap: (text: string) => string): void {
    const frame = this.#end(tag);
    if (frame === null) return;
    const text = frame.text();
    if (this.#raw > 0) {
      this.#put(text);
      return;
    }
    const core = text.trim();
    if (frame.spaceBefore) this.text(' ');
    if (core === '') return;
    this.#put(core.includes('\n') ? core : wrap(core));
    if (text.endsWith(' ')) this.text(' ');
  }

  closeLink(): void {
    const { address } = this.#top;
    this.pop('a', (text) => (address === null ? text : `[${text}](${address})`));
  }

  closeCode(): void {
    this.pop('code', (text) => (text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``));
  }

  closePre(): void {
    const frame = this.#end('pre');
    const text = frame?.text().replace(/^\n/, '').trimEnd() ?? '';
    if (text === '') return;
    let fence = '```';
    while (text.includes(fence) && fence.length < 20) fence += '`';
    this.#put(`${fence}\n${text}\n${fence}`);
    this.#breakLines(2);
  }

  /** The whole text. Ends tags that were never closed. */
  finish(): string {
    while (this.#frames.length > 1) this.pop(this.#top.tag, (text) => text);
    return this.#top.text().trim();
  }

  get #top(): MarkdownFrame {
    return this.#frames.at(-1) as MarkdownFrame;
  }

  #end(tag: string): MarkdownFrame | null {
    if (this.#frames.length === 1 || this.#top.tag !== tag) return null;
    if (tag === 'pre') this.#raw--;
    return this.#frames.pop() as MarkdownFrame;
  }

  #breakLines(lines: number): void {
    if (this.#raw === 0) this.#top.breakLines(lines);
  }

  #put(text: string): void {
    const frame = this.#top;
    const isRoot = this.#frames.length === 1;
    const lead = isRoot && (frame.gap > 0 || frame.isEmpty) ? this.#lead() : '';
    const body = isRoot && text.includes('\n') ? text.replaceAll('\n', `\n${this.#margin}`) : text;
    this.length += frame.add(lead + body);
  }

  get #margin(): string {
    return this.#indent.slice(0, maxIndent).join('');
  }

  #lead(): string {
    if (this.#bullet === null) return this.#margin;
    const lead = this.#indent.slice(0, Math.min(maxIndent, this.#indent.length - 1)).join('') + this.#bullet;
    this.#bullet = null;
    return lead;
  }
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
