// Parses configuration files of git as git does. Invalid lines are skipped: finding too many settings is safer than too few.

export interface GitSetting {
  /** In lower case, with its section but without a subsection: `core.hookspath`, `include.path`. */
  key: string;
  /** The `origin` of `remote.origin.url`; '' if there is none. */
  subsection: string;
  value: string;
}

export interface GitConfig {
  settings: GitSetting[];
  /** Whether a line was skipped that is not a comment, or the text has characters that git may read differently. */
  hasUnknownText: boolean;
}

export function parseGitConfig(text: string): GitConfig {
  const settings: GitSetting[] = [];
  const from = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  let hasUnknownText = /[^\P{C}\t\n]|[^\P{Z} ]|\uFFFD/u.test(from);
  let section = '';
  let subsection = '';
  let at = 0;
  while (at < from.length) {
    const rest = from.slice(at);
    const header = /^\[\s*([\w.-]+)(?:\s+"((?:[^"\\\n]|\\[^\n])*)")?\s*\]/.exec(rest);
    const name = /^([a-z][a-z0-9-]*)[ \t]*(=)?/i.exec(rest);
    if (/^\s/.test(rest)) at += 1;
    else if (header !== null) {
      const [name = '', ...inner] = (header[1] as string).split('.');
      const quoted = header[2] === undefined ? [] : [header[2].replace(/\\(.)/g, '$1')];
      section = name;
      subsection = [...inner.map((each) => each.toLowerCase()), ...quoted].join('.');
      at += header[0].length;
    } else if (name !== null) {
      const begin = at + name[0].length;
      if (name[2] === undefined) hasUnknownText ||= !/^(\n|$)/.test(from.slice(begin, begin + 1));
      const { value, end } = name[2] === '=' ? parseValue(from, begin) : { value: '', end: findLineEnd(from, begin) };
      settings.push({ key: `${section}.${name[1]}`.toLowerCase(), subsection, value });
      at = end;
    } else {
      hasUnknownText ||= !/^[#;]/.test(rest);
      at = findLineEnd(from, at);
    }
  }
  return { settings, hasUnknownText };
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
