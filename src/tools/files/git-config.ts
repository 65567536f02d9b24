// Git's configuration files, read as git reads them. What git would not accept is skipped to the end of its line: rather too much is found than
// too little.

export interface Setting {
  /** In small letters, with its section, without a subsection: `core.hookspath`, `include.path`. */
  key: string;
  value: string;
}

export function settingsOf(text: string): Setting[] {
  const found: Setting[] = [];
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
      const { value, end } = name[2] === '=' ? valueAt(from, begin) : { value: '', end: lineEnd(from, begin) };
      found.push({ key: `${section}.${name[1]}`.toLowerCase(), value });
      at = end;
    } else at = lineEnd(from, at);
  }
  return found;
}

const escapes: Record<string, string> = { n: '\n', t: '\t', b: '\b', '\n': '' };

/** Up to the end of its line: without comments, quotes and the blanks around it. */
function valueAt(text: string, begin: number): { value: string; end: number } {
  let value = '';
  /** What is kept though it ends with blanks: they stood in quotes. */
  let kept = 0;
  let quoted = false;
  let at = begin;
  for (; at < text.length && text[at] !== '\n'; at++) {
    const char = text[at] as string;
    if (char === '"') quoted = !quoted;
    else if (!quoted && (char === '#' || char === ';')) return { value: trimmed(value, kept), end: lineEnd(text, at) };
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

function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end;
}
