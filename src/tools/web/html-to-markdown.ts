// Converts HTML pages to Markdown.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Handler } from 'htmlparser2';
import { MarkdownWriter } from './markdown-writer.ts';

const sliceChars = 65_536;
/** The parser's work grows with the depth, so deeper pages are cut. */
const maxDepth = 400;
const maxChars = 3 * 1024 * 1024;

const skipped = new Set('script style template svg math iframe object canvas audio video select datalist noscript'.split(' '));
const blocks = new Set(
  'p div section article header footer main aside nav figure figcaption address details summary dl dt dd form fieldset ul ol table body'.split(
    ' ',
  ),
);
const inline: Record<string, string> = { strong: '**', b: '**', em: '*', i: '*', del: '~~', s: '~~' };

export interface MarkdownPage {
  title: string | null;
  text: string;
  /** Whether part of the page is missing. */
  cut: boolean;
}

/**
 * Converts HTML to Markdown for reading: headings, lists, links, tables and code, without scripts, styles and hidden parts. The page is read tag by tag and
 * never held as a tree, so the time is linear in its size for any page, and the event loop runs in between. Rejects only when the signal fires.
 */
export async function htmlToMarkdown(html: string, base: string, signal: AbortSignal): Promise<MarkdownPage> {
  const { Parser } = await import('htmlparser2');
  const page = new PageConverter(base);
  const parser = new Parser(page.handler, { decodeEntities: true });
  for (let at = 0; at < html.length && !page.full; at += sliceChars) {
    parser.write(html.slice(at, at + sliceChars));
    await nextTurn();
    signal.throwIfAborted();
  }
  if (!page.full) parser.end();
  return { title: page.title.replace(/\s+/g, ' ').trim() || null, text: page.writer.finish(), cut: page.full };
}

class PageConverter {
  readonly writer = new MarkdownWriter();
  readonly handler: Partial<Handler>;
  title = '';
  full = false;
  #base: string;
  #depth = 0;
  /** The depth at which a hidden element begins. */
  #hidden: number | null = null;
  #inTitle = false;

  constructor(base: string) {
    this.#base = base;
    this.handler = {
      onopentag: (name, attributes) => {
        this.#depth++;
        if (this.#depth > maxDepth || this.writer.length > maxChars) this.full = true;
        if (this.full || this.#hidden !== null) return;
        if (name === 'title') this.#inTitle = this.title === '';
        if (isHidden(name, attributes)) this.#hidden = this.#depth;
        else this.#open(name, attributes);
      },
      ontext: (text) => {
        if (this.#inTitle) this.title += text.slice(0, 500);
        else if (!this.full && this.#hidden === null) this.writer.text(text);
      },
      onclosetag: (name) => {
        if (name === 'title') this.#inTitle = false;
        if (!this.full && this.#hidden === null) this.#close(name);
        if (this.#hidden === this.#depth) this.#hidden = null;
        this.#depth--;
      },
    };
  }

  #open(name: string, attributes: Record<string, string>): void {
    const { writer } = this;
    if (/^h[1-6]$/.test(name)) writer.heading(Number(name[1]));
    else if (name === 'base') this.#base = resolveAddress(attributes.href, this.#base) ?? this.#base;
    else if (name === 'br') writer.line();
    else if (name === 'hr') writer.rule();
    else if (name === 'li') writer.item();
    else if (name === 'blockquote') writer.quote();
    else if (name === 'pre' || name === 'a' || name === 'code' || name === 'td' || name === 'th' || name in inline) writer.push(name);
    else if (name === 'img') writer.image(attributes.alt, resolveAddress(attributes.src, this.#base));
    else if (name === 'tr') writer.row();
    else if (blocks.has(name)) writer.block(name);
    if (name === 'a') writer.address(resolveAddress(attributes.href, this.#base));
    if (name === 'ul' || name === 'ol') writer.list(name, Number.parseInt(attributes.start ?? '1', 10) || 1);
  }

  #close(name: string): void {
    const { writer } = this;
    const mark = inline[name];
    if (mark !== undefined) writer.pop(name, (text) => `${mark}${text}${mark}`);
    else if (name === 'a') writer.closeLink();
    else if (name === 'code') writer.closeCode();
    else if (name === 'pre') writer.closePre();
    else if (name === 'td' || name === 'th') writer.closeCell(name);
    else if (name === 'tr') writer.closeRow();
    else if (name === 'li') writer.closeItem();
    else if (name === 'blockquote') writer.closeQuote();
    else if (name === 'ul' || name === 'ol') writer.closeList();
    else if (blocks.has(name) || /^h[1-6]$/.test(name)) writer.block(name);
  }
}

function isHidden(name: string, attributes: Record<string, string>): boolean {
  if (skipped.has(name) || name === 'title') return true;
  return 'hidden' in attributes || attributes['aria-hidden'] === 'true' || /display\s*:\s*none/i.test(attributes.style ?? '');
}

/** Null for addresses that cannot be fetched, including anchors in the same page. */
function resolveAddress(address: string | undefined, base: string): string | null {
  if (address === undefined || address === '' || address.startsWith('#')) return null;
  const url = URL.parse(address, base);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') ? url.href : null;
}
