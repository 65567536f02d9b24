// Reads one word of a command as bash does: quotes removed, expansions marked, patterns judged.
import type { CheckedTree } from './check-tree.ts';
import { decodeAnsiC } from './decode-ansi-c.ts';
import { denyCommand } from './deny-command.ts';

/** A word of a command as bash passes it to the program. */
export interface ShellWord {
  /** Without quotes; expansions as written. */
  text: string;
  /** `text` without its expansions: the word if they turn out empty. */
  bare: string;
  /** Whether the program gets exactly `text`. */
  literal: boolean;
  /** Why the actual word is unknown before it runs; also null for harmless cases, such as the names that `src/*.ts` matches. */
  unknownReason: string | null;
  /** The unquoted characters; an `x` for every other character. */
  mask: string;
}

const advice = 'write it more simply, or quote the word';

/** Throws RetinueError `denied` where bash would end the word or expand something that the tree does not contain. */
export function readWord(tree: CheckedTree, start: number, end: number): ShellWord {
  const reader = new WordReader(tree, start, end);
  reader.read();
  return reader.toWord();
}

class WordReader {
  readonly #tree: CheckedTree;
  #at: number;
  readonly #start: number;
  readonly #end: number;
  #text = '';
  #bare = '';
  #mask = '';
  #literal = true;
  #unknownReason: string | null = null;

  constructor(tree: CheckedTree, start: number, end: number) {
    this.#tree = tree;
    this.#at = start;
    this.#start = start;
    this.#end = end;
  }

  toWord(): ShellWord {
    if (this.#mask.startsWith('#')) denyCommand('has a word that begins with `#`', advice);
    const glob = patternProblem(this.#mask, this.#text);
    if (glob !== null) {
      this.#literal = false;
      if (glob !== '') this.#unknownReason ??= glob;
    }
    return { text: this.#text, bare: this.#bare, literal: this.#literal, unknownReason: this.#unknownReason, mask: this.#mask };
  }

  read(): void {
    const { source } = this.#tree;
    while (this.#at < this.#end) {
      const char = source[this.#at] as string;
      const next = source[this.#at + 1] ?? '';
      if (this.#skipExpansion(false)) continue;
      if (char === '\\') this.#readEscape(next);
      else if (char === "'") this.#readSingleQuotes(this.#at + 1);
      else if (char === '$' && next === "'") this.#readAnsiC();
      else if (char === '"' || (char === '$' && next === '"')) this.#readDoubleQuotes(char === '"' ? 1 : 2);
      else if (/[ \t\n;&|<>()`]/.test(char)) denyCommand(`has \`${char.trim()}\` in a word`, advice);
      else if (char === '$' && /[\w{([?!#@*$-]/.test(next)) denyCommand('has an expansion that cannot be analysed', advice);
      else this.#add(char, char);
    }
    if (this.#at !== this.#end || this.#start === this.#end) denyCommand('has an ambiguous word', advice);
  }

  #add(text: string, mask: string): void {
    this.#text += text;
    this.#bare += text;
    this.#mask += mask;
    this.#at += 1;
  }

  #readEscape(next: string): void {
    if (next === '') denyCommand('ends in a backslash', advice);
    this.#at += 1;
    if (next === '\n') this.#at += 1;
    else this.#add(next, 'x');
  }

  #readSingleQuotes(from: number): void {
    const close = this.#tree.source.indexOf("'", from);
    if (close === -1 || close >= this.#end) denyCommand('has an ambiguous quote', advice);
    this.#addQuoted(this.#tree.source.slice(from, close), close + 1);
  }

  #readAnsiC(): void {
    const { source } = this.#tree;
    let close = this.#at + 2;
    while (close < this.#end && source[close] !== "'") close += source[close] === '\\' ? 2 : 1;
    if (close >= this.#end) denyCommand('has an ambiguous quote', advice);
    this.#addQuoted(decodeAnsiC(source.slice(this.#at + 2, close)), close + 1);
  }

  #addQuoted(text: string, next: number): void {
    this.#text += text;
    this.#bare += text;
    this.#mask += 'x'.repeat(Math.max(1, text.length));
    this.#at = next;
  }

  #readDoubleQuotes(open: number): void {
    const { source } = this.#tree;
    this.#at += open;
    this.#mask += 'x';
    for (;;) {
      const char = source[this.#at];
      const next = source[this.#at + 1] ?? '';
      if (char === undefined || this.#at >= this.#end) denyCommand('has an ambiguous quote', advice);
      if (char === '"') break;
      if (this.#skipExpansion(true)) continue;
      if (char === '\\' && next === '\n') this.#at += 2;
      else if (char === '\\' && /[$`"\\]/.test(next)) {
        this.#at += 1;
        this.#add(next, 'x');
      } else if (char === '`' || (char === '$' && /[\w{([?!#@*$-]/.test(next)))
        denyCommand('has an expansion that cannot be analysed', advice);
      else this.#add(char as string, 'x');
    }
    this.#at += 1;
  }

  /** Skips an expansion. Returns whether there was one. */
  #skipExpansion(isQuoted: boolean): boolean {
    const expansion = this.#tree.expansions.get(this.#at);
    if (expansion === undefined || (isQuoted && expansion.type === 'process_substitution')) return false;
    const text = this.#tree.source.slice(expansion.start, expansion.end);
    if (expansion.end > this.#end) denyCommand('has an ambiguous expansion', advice);
    this.#text += text;
    this.#mask += 'x'.repeat(text.length);
    this.#at = expansion.end;
    this.#literal = false;
    const isNumber = /^\$[?#$]$|^\$\(\([\d\s+*/%()<>=!&|^~-]*\)\)$/.test(text);
    const isName = expansion.type === 'process_substitution' && expansion.start === this.#start && expansion.end === this.#end;
    if (!isNumber && !isName) this.#unknownReason ??= `\`${text.length > 40 ? `${text.slice(0, 40)}…` : text}\` is known only when it runs`;
    return true;
  }
}

/**
 * Judges patterns, braces and `~`. Null if there are none; '' for a harmless pattern, whose matches are below a directory or begin with a
 * character that cannot start a flag; otherwise why the result is unknown. `.*` matches `..` in some versions of bash.
 */
function patternProblem(mask: string, text: string): string | null {
  if (/(^|[=:])~/.test(mask)) return '`~` is a home directory';
  if (/,|\.\./.test(textBetween(mask, '{', '}'))) return 'braces expand to several words';
  if (!/[*?]/.test(mask) && textBetween(mask, '[', ']') === '') return null;
  if (/^[*?[-]/.test(text)) return 'names that the pattern matches may look like flags; begin it with ./';
  return /(^|\/)\.[^/]*[*?[]/.test(mask) || /[=:]/.test(text.split(/[*?[]/, 1)[0] as string)
    ? 'the pattern may match `..` or hidden files'
    : '';
}

function textBetween(text: string, open: string, close: string): string {
  const start = text.indexOf(open);
  return start === -1 ? '' : text.slice(start + 1, Math.max(start + 1, text.lastIndexOf(close)));
}

const plain = /^[\p{L}\p{N}\p{M}_@%+=:,./^~{}#!-]+$/u;

/**
 * Formats words as rules see them, separated by one blank. A word that is empty, or has characters with a meaning in a shell or a rule, is put in
 * single quotes, so that it cannot look like several words or a pattern. Expansions stay as written, in double quotes if they contain blanks.
 */
export function formatWords(words: readonly ShellWord[]): string {
  return words.map(formatWord).join(' ');
}

function formatWord({ text, literal }: ShellWord): string {
  if (plain.test(text) || /^(\[\[?|\]\]?)$/.test(text)) return text;
  if (!literal) return /\s/.test(text) && !/^[<>]\(/.test(text) ? `"${text}"` : text;
  return `'${text.replaceAll("'", "'\\''")}'`;
}

export function createLiteralWord(text: string): ShellWord {
  return { text, bare: text, literal: true, unknownReason: null, mask: text };
}
