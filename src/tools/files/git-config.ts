// Parses configuration files of git as git does. Invalid lines are skipped, not rejected: finding too many settings is safer than too few.

export interface GitSetting {
  /** In lower case, with its section but without a subsection: `core.hookspath`, `include.path`. */
  key: string;
  value: string;
}

export function parseGitConfig(text: string): GitSetting[] {
  const found: GitSetting[] = [];
  const from = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  let section = '';
  let at = 0;
  while (at < from.length) {
    const rest = from.slice(at);
    const header = /^\[\s*([\w.-]+)(?:\s+"(?:[^"\\\n]|\\[^\n])*")?\s*\]/.exec(rest);
    const name = /^([a-z][a-z0-9-]*)[ \t]*(=)?/i.exec(rest);
    if (/^\s/.test(rest)) at += 1;
    else if (header !== null) {
      section = (header[1] as string).split('.', 1)[0] as string;
      at += header[0].length;
    } else if (name !== null) {
      const begin = at + name[0].length;
      const { value, end } = name[2] === '=' ? parseValue(from, begin) : { value: '', end: findLineEnd(from, begin) };
      found.push({ key: `${section}.${name[1]}`.toLowerCase(), value });
      at = end;
    } else at = findLineEnd(from, at);
  }
  return found;
}

const escapes: Record<string, string> = { n: '\n', t: '\t', b: '\b', '\n': '' };

/** The value up to the end of its line, without comments, quotes and surrounding blanks. */
function parseValue(text: string, begin: number): { value: string; end: number } {
  let value = '';
  /** Length of the part whose trailing blanks are kept, because they were quoted. */
  let kept = 0;
  let quoted = false;
  let at = begin;
  for (; at < text.length && text[at] !== '\n'; at++) {
    const char = text[at] as string;
    if (char === '"') quoted = !quoted;
    else if (!quoted && (char === '#' || char === ';')) return { value: trimmed(value, kept), end: findLineEnd(text, at) };
    else if (char === '\\' && at + 1 < text.length) {
      const next = text[++at] as string;
      value += escapes[next] ?? next;
      kept = value.length;
    } else if (quoted || value !== '' || !/\s/.test(char)) value += char;
    if (quoted) kept = value.length;
  }
  return { value: trimmed(value, kept), end: at };
}

function trimmed(value: string, kept: number): string {
  return value.slice(0, kept) + value.slice(kept).trimEnd();
}

function findLineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end;
}
