import type { Tree } from './check-tree.ts';
import { decodeAnsiC } from './decode-ansi-c.ts';
import { refuse } from './deny-command.ts';

/** A word of a command as bash hands it to the program. */
export interface Word {
  /** Quotes removed; what is expanded stands as it is written. */
  text: string;
  /** `text` without what is expanded: what is left when that is empty. */
  bare: string;
  /** Whether `text` is exactly what the program gets. */
  literal: boolean;
  /** Why nobody knows what the program gets; null also for what cannot do harm, such as the names that `src/*.ts` finds. */
  loose: string | null;
  /** What the shell sees unquoted; of everything else an `x`. */
  mask: string;
}

const instead = 'write it more simply, or quote the word';

/** Reads one word. Throws RetinueError `denied` where bash would see the end of a word, or an expansion that the tree has not. */
export function readWord(tree: Tree, start: number, end: number): Word {
  const reader = new Reader(tree, start, end);
  reader.unquoted();
  return reader.word();
}

class Reader {
  readonly #tree: Tree;
  #at: number;
  readonly #start: number;
  readonly #end: number;
  #text = '';
  #bare = '';
  #mask = '';
  #literal = true;
  #loose: string | null = null;

  constructor(tree: Tree, start: number, end: number) {
    this.#tree = tree;
    this.#at = start;
    this.#start = start;
    this.#end = end;
  }

  word(): Word {
    if (this.#mask.startsWith('#')) refuse('has a word that begins with `#`', instead);
    const glob = globOf(this.#mask, this.#text);
    if (glob !== null) {
      this.#literal = false;
      if (glob !== '') this.#loose ??= glob;
    }
    return { text: this.#text, bare: this.#bare, literal: this.#literal, loose: this.#loose, mask: this.#mask };
  }

  unquoted(): void {
    const { source } = this.#tree;
    while (this.#at < this.#end) {
      const char = source[this.#at] as string;
      const next = source[this.#at + 1] ?? '';
      if (this.#hole(false)) continue;
      if (char === '\\') this.#escape(next);
      else if (char === "'") this.#quoted(this.#at + 1, (inside) => inside);
      else if (char === '$' && next === "'") this.#ansiC();
      else if (char === '"' || (char === '$' && next === '"')) this.#double(char === '"' ? 1 : 2);
      else if (/[ \t\n;&|<>()`]/.test(char)) refuse(`has \`${char.trim()}\` in a word`, instead);
      else if (char === '$' && /[\w{([?!#@*$-]/.test(next)) refuse('has an expansion that cannot be judged', instead);
      else this.#add(char, char);
    }
    if (this.#at !== this.#end || this.#start === this.#end) refuse('has a word that can be read in two ways', instead);
  }

  #add(text: string, mask: string): void {
    this.#text += text;
    this.#bare += text;
    this.#mask += mask;
    this.#at += 1;
  }

  #escape(next: string): void {
    if (next === '') refuse('ends in a backslash', instead);
    this.#at += 1;
    if (next === '\n') this.#at += 1;
    else this.#add(next, 'x');
  }

  #quoted(from: number, decode: (inside: string) => string): void {
    const close = this.#tree.source.indexOf("'", from);
    if (close === -1 || close >= this.#end) refuse('has a quote that can be read in two ways', instead);
    this.#literally(decode(this.#tree.source.slice(from, close)), close + 1);
  }

  #ansiC(): void {
    const { source } = this.#tree;
    let close = this.#at + 2;
    while (close < this.#end && source[close] !== "'") close += source[close] === '\\' ? 2 : 1;
    if (close >= this.#end) refuse('has a quote that can be read in two ways', instead);
    this.#literally(decodeAnsiC(source.slice(this.#at + 2, close)), close + 1);
  }

  #literally(text: string, next: number): void {
    this.#text += text;
    this.#bare += text;
    this.#mask += 'x'.repeat(Math.max(1, text.length));
    this.#at = next;
  }

  #double(open: number): void {
    const { source } = this.#tree;
    this.#at += open;
    this.#mask += 'x';
    for (;;) {
      const char = source[this.#at];
      const next = source[this.#at + 1] ?? '';
      if (char === undefined || this.#at >= this.#end) refuse('has a quote that can be read in two ways', instead);
      if (char === '"') break;
      if (this.#hole(true)) continue;
      if (char === '\\' && next === '\n') this.#at += 2;
      else if (char === '\\' && /[$`"\\]/.test(next)) {
        this.#at += 1;
        this.#add(next, 'x');
      } else if (char === '`' || (char === '$' && /[\w{([?!#@*$-]/.test(next))) refuse('has an expansion that cannot be judged', instead);
      else this.#add(char as string, 'x');
    }
    this.#at += 1;
  }

  /** Steps over what bash expands here. */
  #hole(isQuoted: boolean): boolean {
    const hole = this.#tree.holes.get(this.#at);
    if (hole === undefined || (isQuoted && hole.type === 'process_substitution')) return false;
    const text = this.#tree.source.slice(hole.start, hole.end);
    if (hole.end > this.#end) refuse('has an expansion that can be read in two ways', instead);
    this.#text += text;
    this.#mask += 'x'.repeat(text.length);
    this.#at = hole.end;
    this.#literal = false;
    const isNumber = /^\$[?#$]$|^\$\(\([\d\s+*/%()<>=!&|^~-]*\)\)$/.test(text);
    const isName = hole.type === 'process_substitution' && hole.start === this.#start && hole.end === this.#end;
    if (!isNumber && !isName) this.#loose ??= `\`${text.length > 40 ? `${text.slice(0, 40)}…` : text}\` is known only when it runs`;
    return true;
  }
}

/**
 * Patterns, braces and `~`: null where there are none, '' for a pattern that finds only names below a folder or with a beginning that is
 * no flag, and otherwise why nobody knows what it becomes. `.*` finds `..` in some versions of bash.
 */
function globOf(mask: string, text: string): string | null {
  if (/(^|[=:])~/.test(mask)) return '`~` leads to a home directory';
  if (/,|\.\./.test(between(mask, '{', '}'))) return 'braces make several words of one';
  if (!/[*?]/.test(mask) && between(mask, '[', ']') === '') return null;
  if (/^[*?[-]/.test(text)) return 'the names that a pattern finds may be flags; begin it with ./';
  return /(^|\/)\.[^/]*[*?[]/.test(mask) || /[=:]/.test(text.split(/[*?[]/, 1)[0] as string)
    ? 'a pattern may find `..` or hidden files'
    : '';
}

function between(text: string, open: string, close: string): string {
  const start = text.indexOf(open);
  return start === -1 ? '' : text.slice(start + 1, Math.max(start + 1, text.lastIndexOf(close)));
}

const plain = /^[\p{L}\p{N}\p{M}_@%+=:,./^~{}#!-]+$/u;

/**
 * Words as rules see them: one blank between two. A word that is empty, or that has characters with a meaning in a shell or a rule, stands in
 * single quotes, so that it cannot pass for several words or for a pattern. What bash itself expands stands as it is written, in double
 * quotes where it has blanks.
 */
export function shownWords(words: readonly Word[]): string {
  return words.map(shownWord).join(' ');
}

function shownWord({ text, literal }: Word): string {
  if (plain.test(text) || /^(\[\[?|\]\]?)$/.test(text)) return text;
  if (!literal) return /\s/.test(text) && !/^[<>]\(/.test(text) ? `"${text}"` : text;
  return `'${text.replaceAll("'", "'\\''")}'`;
}

export function literalWord(text: string): Word {
  return { text, bare: text, literal: true, loose: null, mask: text };
}
