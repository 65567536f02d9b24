// A server in a TOML file, as text: only our own table is touched. The file is split into statements, no further than needed to know
// where each begins and ends; what is not understood is refused.
import { RetinueError } from '../../contract/error.ts';
import { type Merged, type ServerCommand, serverName } from './clients.ts';

const parent = 'mcp_servers';
/** What a table has for a server that is reached by an address. */
const remote = ['url', 'bearer_token', 'bearer_token_env_var', 'http_headers', 'env_http_headers', 'scopes', 'oauth_resource'];

/** A table's header or a key with its value; `text` is without the line break and what stands before the key. */
interface Statement {
  start: number;
  end: number;
  /** Of its line or lines, with the blanks before it and the comment and line break behind it. */
  line: { start: number; end: number };
  header: boolean;
  /** `[[…]]`: one of a list of tables. */
  listed: boolean;
  /** The dotted name, split. */
  name: string[];
}

export function mergeToml(file: string, text: string, { command, args }: ServerCommand): Merged {
  const statements = split(file, text);
  refuseLists(file, statements);
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const wanted = { command: quote(command), args: `[${args.map(quote).join(', ')}]` };
  const own = statements.findIndex(({ header, name }) => header && name.join('\0') === `${parent}\0${serverName}`);
  if (own < 0) {
    refuseOther(file, statements);
    const first = { ...wanted, startup_timeout_sec: '60', tool_timeout_sec: '1800' };
    const lines = [`[${parent}.${serverName}]`, ...Object.entries(first).map(([key, value]) => `${key} = ${value}`)];
    const gap = text === '' ? '' : `${text.endsWith('\n') ? '' : eol}${eol}`;
    return { text: `${text}${gap}${lines.join(eol)}${eol}`, removed: [] };
  }
  const next = statements.findIndex(({ header }, index) => header && index > own);
  const inside = statements.slice(own + 1, next < 0 ? statements.length : next);
  const edits = Object.entries(wanted).map(([key, value]) => {
    const there = inside.find(({ name }) => name.length === 1 && name[0] === key);
    const after = statements[own] as Statement;
    return there ? { ...there, text: `${key} = ${value}` } : { start: after.end, end: after.end, text: `${eol}${key} = ${value}` };
  });
  const gone = remoteIn(statements);
  const cuts = gone.map(({ line }) => ({ ...line, text: '' }));
  // From the end, so that places before stay where they are; of two at the same place the later is put in first.
  const merged = [...edits, ...cuts]
    .reverse()
    .sort((a, b) => b.start - a.start)
    .reduce(
      (all, { start, end, text: put }) => (same(all.slice(start, end), put) ? all : all.slice(0, start) + put + all.slice(end)),
      text,
    );
  return { text: merged, removed: [...new Set(gone.map(({ key }) => `${parent}.${serverName}.${key}`))] };
}

/** In our table, or in a table of their own below it. */
function remoteIn(statements: Statement[]): { line: Statement['line']; key: string }[] {
  let table: string[] = [];
  return statements.flatMap(({ header, name, line }) => {
    if (header) table = name;
    const [first, second, key] = header ? name : [...table, ...name];
    return first === parent && second === serverName && key !== undefined && remote.includes(key) ? [{ line, key }] : [];
  });
}

/** Our server is one table, and so is what it stands in. */
function refuseLists(file: string, statements: Statement[]): void {
  const found = statements.find(({ listed, name }) => listed && [parent, `${parent}.${serverName}`].includes(name.join('.')));
  if (!found) return;
  const path = found.name.join('.');
  throw refused(file, `it has \`[[${path}]]\`, a list of tables, where clients want one table, \`[${path}]\``);
}

/** The same setting written with other blanks is left as it is. */
function same(written: string, put: string): boolean {
  const flat = (text: string) => text.replace(/\s+/g, '').replace(/,\]$/, ']');
  return flat(written) === flat(put);
}

/** The server may also be written in ways that a new table would contradict. */
function refuseOther(file: string, statements: Statement[]): void {
  let table: string[] = [];
  for (const { header, name } of statements) {
    if (header) table = name;
    const full = header ? name : [...table, ...name];
    if (full[0] !== parent) continue;
    const inline = !header && full.length === 1;
    const ours = full[1] === serverName && !(header && full.length > 2);
    if (inline || ours) throw refused(file, `it has \`${full.join('.')}\` in a form that is not changed here`);
  }
}

function split(file: string, text: string): Statement[] {
  const statements: Statement[] = [];
  let at = text.startsWith('\ufeff') ? 1 : 0;
  const wrong = () => refused(file, `line ${text.slice(0, at).split('\n').length} of it is not understood`);
  while (at < text.length) {
    const blank = /[ \t\r\n]*(#[^\n]*)?/y;
    blank.lastIndex = at;
    const skipped = blank.exec(text)?.[0].length ?? 0;
    at += skipped;
    if (skipped > 0) continue;
    const statement = /(?<open>\[\[?)[ \t]*(?<table>[^\]\n#=]+?)[ \t]*\]\]?(?=[ \t]*(#|\r?\n|$))|(?<key>[^=\n#[\]]+?)[ \t]*=[ \t]*/y;
    statement.lastIndex = at;
    const found = statement.exec(text);
    if (!found?.groups) throw wrong();
    const start = at;
    const header = found.groups.open !== undefined;
    const name = nameOf(found.groups.table ?? found.groups.key ?? '');
    if (name === null) throw wrong();
    at += found[0].length;
    if (!header) {
      const value = endOfValue(text, at);
      if (value === null || value === at) throw wrong();
      at = value;
    }
    const end = at;
    const rest = /[ \t]*(#[^\n]*)?(\r?\n|$)/y;
    rest.lastIndex = at;
    const tail = rest.exec(text);
    if (!tail) throw wrong();
    at += tail[0].length;
    const line = { start: text.lastIndexOf('\n', start) + 1, end: at };
    statements.push({ start, end, line, header, listed: found.groups.open === '[[', name });
  }
  return statements;
}

/** `a."b.c"` → a, b.c */
function nameOf(written: string): string[] | null {
  if (!/^[ \t]*([\w-]+|"[^"\\]*"|'[^']*')([ \t]*\.[ \t]*([\w-]+|"[^"\\]*"|'[^']*'))*[ \t]*$/.test(written)) return null;
  return [...written.matchAll(/[\w-]+|"([^"\\]*)"|'([^']*)'/g)].map(([whole, double, single]) => double ?? single ?? whole);
}

const strings = /"""(?:[^\\]|\\[\s\S])*?"{3,5}|'''[\s\S]*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/y;

/** Null where a string or a bracket has no end. */
function endOfValue(text: string, from: number): number | null {
  const open: string[] = [];
  let at = from;
  while (at < text.length) {
    const char = text[at] as string;
    if (char === '"' || char === "'") {
      strings.lastIndex = at;
      const found = strings.exec(text);
      if (!found) return null;
      at += found[0].length;
      continue;
    }
    if (char === '[' || char === '{') open.push(char === '[' ? ']' : '}');
    else if (char === ']' || char === '}') {
      if (open.pop() !== char) return null;
    } else if (open.length === 0 && (char === '\n' || char === '#')) break;
    else if (char === '#') {
      const line = text.indexOf('\n', at);
      at = line < 0 ? text.length : line;
      continue;
    }
    at++;
  }
  if (open.length > 0) return null;
  return from + text.slice(from, at).trimEnd().length;
}

/** A basic string: what JSON escapes, TOML reads. */
function quote(text: string): string {
  return JSON.stringify(text).replaceAll('\x7f', '\\u007f');
}

function refused(file: string, why: string): RetinueError {
  return new RetinueError('invalid_config', `${file} is left alone: ${why}; --print shows what to put in by hand`);
}
