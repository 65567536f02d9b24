// Adds the server to a TOML file as text, so that comments and order stay: smol-toml parses but cannot edit. The file is split into
// statements with the parser itself, and the result is parsed again and compared with the expected value before it is used.
import { isDeepStrictEqual } from 'node:util';
import { parse, type TomlTable, type TomlValue } from 'smol-toml';
import type { RetinueError } from '../../contract/error.ts';
import { type MergeResult, notChangedError, type ServerCommand, serverName } from './clients.ts';

const parent = 'mcp_servers';
/** Keys of a server that is reached by an address; a client that finds both kinds may use either. */
const remoteKeys = ['url', 'bearer_token', 'bearer_token_env_var', 'http_headers', 'env_http_headers', 'scopes', 'oauth_resource'];
/** Bounds the search for the end of a statement. */
const maxStatementLines = 2000;

/** One table header or key with its value, as a range of lines with their line ends. */
interface Statement {
  firstLine: number;
  endLine: number;
  parsed: TomlTable;
  isHeader: boolean;
}

export function mergeToml(file: string, text: string, { command, args, variables }: ServerCommand): MergeResult {
  const bom = text.startsWith('\ufeff') ? '\ufeff' : '';
  const body = text.slice(bom.length);
  const before = parseFile(file, body);
  const lines = body.split(/(?<=\n)/);
  const statements = splitStatements(file, lines);
  const headerIndex = statements.findIndex((each) => each.isHeader && isDeepStrictEqual(each.parsed, { [parent]: { [serverName]: {} } }));
  const removed = findRemote(statements, headerIndex);
  const wanted: TomlTable = {
    command,
    args,
    ...(headerIndex < 0 ? { startup_timeout_sec: 60, tool_timeout_sec: 1800 } : {}),
    ...addVariables(before, variables),
  };
  const edited = [...lines];
  for (const { statement } of removed) edited.fill('', statement.firstLine, statement.endLine);
  const eol = body.includes('\r\n') ? '\r\n' : '\n';
  if (headerIndex < 0) appendTable(edited, wanted, eol);
  else editTable(edited, { statements, headerIndex, wanted, eol });
  const after = edited.join('');
  const keys = [...new Set(removed.map(({ key }) => key))];
  assertOnlyServerChanged(file, after, expectedValue(file, before, wanted, keys));
  return { text: bom + after, removed: keys.map((key) => `${parent}.${serverName}.${key}`) };
}

/** Codex passes on only the variables that `env_vars` names. Those that the user added stay. */
function addVariables(before: TomlTable, variables: string[]): TomlTable {
  const servers = before[parent];
  const server = isTable(servers) ? servers[serverName] : undefined;
  const existing = isTable(server) && Array.isArray(server.env_vars) ? server.env_vars : [];
  const missing = variables.filter((name) => !existing.includes(name));
  return missing.length === 0 ? {} : { env_vars: [...existing, ...missing] };
}

function parseFile(file: string, text: string): TomlTable {
  try {
    return parseToml(text);
  } catch (error) {
    throw notChangedError(file, `line ${(error as { line?: number }).line ?? 1} is not valid TOML`);
  }
}

/** Plain objects, so that they can be compared with literals. */
function parseToml(text: string): TomlTable {
  return structuredClone(parse(text, { integersAsBigInt: 'asNeeded' }));
}

function splitStatements(file: string, lines: string[]): Statement[] {
  const statements: Statement[] = [];
  for (let firstLine = 0; firstLine < lines.length; ) {
    const first = lines[firstLine] as string;
    if (/^\s*(#.*)?\s*$/.test(first)) firstLine++;
    else {
      const statement = readStatement(file, lines, firstLine);
      statements.push(statement);
      firstLine = statement.endLine;
    }
  }
  return statements;
}

/** A statement ends at the first line up to which it parses. */
function readStatement(file: string, lines: string[], firstLine: number): Statement {
  const isHeader = /^\s*\[/.test(lines[firstLine] as string);
  const last = Math.min(lines.length, firstLine + maxStatementLines);
  for (let endLine = firstLine + 1; endLine <= last; endLine++) {
    const parsed = tryParse(lines.slice(firstLine, endLine).join(''));
    if (parsed) return { firstLine, endLine, parsed, isHeader };
  }
  throw notChangedError(file, `the value that starts in line ${firstLine + 1} is too long`);
}

function tryParse(text: string): TomlTable | null {
  try {
    return parseToml(text);
  } catch {
    return null;
  }
}

/** Statements with keys of another transport: in our table, or in a table below it. */
function findRemote(statements: Statement[], headerIndex: number): { statement: Statement; key: string }[] {
  let table: string | null = null;
  return statements.flatMap((statement, index) => {
    if (statement.isHeader) table = index === headerIndex ? '' : subTableKey(statement.parsed);
    const key = table === '' && !statement.isHeader ? Object.keys(statement.parsed)[0] : table;
    return key && remoteKeys.includes(key) ? [{ statement, key }] : [];
  });
}

/** `env` of `[mcp_servers.retinue.env]`; null for any other table. */
function subTableKey(parsed: TomlTable): string | null {
  const server = (parsed[parent] as TomlTable | undefined)?.[serverName];
  return isTable(server) ? (Object.keys(server)[0] ?? null) : null;
}

function appendTable(lines: string[], wanted: TomlTable, eol: string): void {
  const last = lines.at(-1) ?? '';
  const gap = lines.join('') === '' ? '' : `${last.endsWith('\n') ? '' : eol}${eol}`;
  const settings = Object.entries(wanted).map(([key, value]) => `${settingText(key, value)}${eol}`);
  lines.push(`${gap}[${parent}.${serverName}]${eol}`, ...settings);
}

interface TableEdit {
  statements: Statement[];
  headerIndex: number;
  wanted: TomlTable;
  eol: string;
}

function editTable(lines: string[], { statements, headerIndex, wanted, eol }: TableEdit): void {
  const nextHeader = statements.findIndex(({ isHeader }, index) => isHeader && index > headerIndex);
  const settings = statements.slice(headerIndex + 1, nextHeader < 0 ? undefined : nextHeader);
  const added: string[] = [];
  for (const [key, value] of Object.entries(wanted)) {
    const existing = settings.find(({ parsed }) => Object.keys(parsed)[0] === key);
    if (existing) replaceSetting(lines, existing, key, value);
    else added.push(`${settingText(key, value)}${eol}`);
  }
  const header = (statements[headerIndex] as Statement).endLine - 1;
  if (added.length > 0 && !(lines[header] as string).endsWith('\n')) lines[header] += eol;
  lines[header] += added.join('');
}

/** Keeps the indentation, the comment at the end and the line end. A value that is already right stays as written. */
function replaceSetting(lines: string[], { firstLine, endLine, parsed }: Statement, key: string, value: TomlValue): void {
  if (isDeepStrictEqual(parsed, { [key]: value })) return;
  const written = lines.slice(firstLine, endLine).join('');
  const indent = /^[ \t]*/.exec(written)?.[0] ?? '';
  const tail = trailingComment(written, parsed);
  lines.fill('', firstLine, endLine);
  lines[firstLine] = `${indent}${settingText(key, value)}${tail}`;
}

/** From the blanks before the comment to the line end. The comment begins at the first `#` before which the statement is complete. */
function trailingComment(written: string, parsed: TomlTable): string {
  for (let at = written.indexOf('#'); at !== -1; at = written.indexOf('#', at + 1)) {
    const statement = written.slice(0, at);
    if (isDeepStrictEqual(tryParse(statement), parsed)) return written.slice(statement.trimEnd().length);
  }
  return written.slice(written.trimEnd().length);
}

/** JSON's strings and lists of strings are valid TOML, except that TOML escapes DEL. */
function settingText(key: string, value: TomlValue): string {
  const text = Array.isArray(value) ? `[${value.map((item) => JSON.stringify(item)).join(', ')}]` : JSON.stringify(value);
  return `${key} = ${text.replaceAll('\x7f', '\\u007f')}`;
}

function expectedValue(file: string, before: TomlTable, wanted: TomlTable, removed: string[]): TomlTable {
  const servers = before[parent] ?? {};
  if (!isTable(servers)) throw wrongTypeError(file, parent);
  const server = servers[serverName] ?? {};
  if (!isTable(server)) throw wrongTypeError(file, `${parent}.${serverName}`);
  const kept = Object.fromEntries(Object.entries(server).filter(([key]) => !removed.includes(key)));
  return { ...before, [parent]: { ...servers, [serverName]: { ...kept, ...wanted } } };
}

function assertOnlyServerChanged(file: string, after: string, expected: TomlTable): void {
  if (!isDeepStrictEqual(tryParse(after), expected))
    throw notChangedError(file, `it defines \`${parent}\` or \`${parent}.${serverName}\` in a form that cannot be edited safely`);
}

function wrongTypeError(file: string, path: string): RetinueError {
  return notChangedError(file, `\`${path}\` must be one table, \`[${path}]\`, not a list of tables or another value`);
}

function isTable(value: TomlValue | undefined): value is TomlTable {
  return typeof value === 'object' && !Array.isArray(value) && !(value instanceof Date);
}
