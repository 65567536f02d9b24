// A server in a JSON file, with or without comments. The text around it stays as it is, comments and order included.
import { createRequire } from 'node:module';
import { isDeepStrictEqual } from 'node:util';
import type { Node, ParseError } from 'jsonc-parser';
import { RetinueError } from '../../contract/error.ts';
import type { Json } from '../../contract/json.ts';
import { type JsonEntry, type Merged, serverName } from './clients.ts';

type Objects = Record<string, Json>;

/** What an entry has for a server that is reached by an address; a client that finds both may take either. */
const remote = ['url', 'serverUrl', 'headers', 'headersHelper', 'oauth', 'auth'];

export function mergeJson(file: string, text: string, entry: JsonEntry): Merged {
  const bom = text.startsWith('\ufeff') ? '\ufeff' : '';
  const body = text.slice(bom.length);
  if (body.trim() === '') return { text: `${bom}${JSON.stringify(fresh(entry), null, 2)}\n`, removed: [] };
  const before = parsed(file, body);
  const path = [...placeOf(file, before, entry), serverName];
  const there = objectAt(file, before, path);
  const wanted = { ...(there === null ? { ...entry.always, ...entry.first } : entry.always) };
  const changes =
    there === null ? [{ path, value: wanted as Json }] : Object.entries(wanted).map(([key, value]) => ({ path: [...path, key], value }));
  const gone = Object.keys(there ?? {}).filter((key) => isRemote(key, there as Objects, entry));
  const filled = changes.reduce((made, change) => put(made, change.path, change.value), body);
  const after = gone.reduce((made, key) => set(made, [...path, key], undefined), filled);
  const kept = Object.fromEntries(Object.entries(there ?? {}).filter(([key]) => !gone.includes(key)));
  // What was asked for, and not a key more or less: a file with the same key twice, say, comes out otherwise.
  if (!isDeepStrictEqual(parsed(file, after), placed(before, path, { ...kept, ...wanted })))
    throw refused(file, 'it could not be changed without changing something else in it');
  return { text: bom + after, removed: gone.map((key) => [...path, key].join('.')) };
}

function isRemote(key: string, there: Objects, { always }: JsonEntry): boolean {
  return remote.includes(key) || (key === 'type' && always.type === undefined && there.type !== 'stdio');
}

/** A server of that name would have a type. */
function placeOf(file: string, value: Json, { path, within }: JsonEntry): string[] {
  if (within === undefined || objectAt(file, value, path)?.[within] === undefined) return path;
  const inner = objectAt(file, value, [...path, within]);
  return inner === null || 'type' in inner ? path : [...path, within];
}

function fresh({ path, always, first, around }: JsonEntry): Json {
  return { ...around, ...(placed({}, [...path, serverName], { ...always, ...first }) as Objects) };
}

function placed(value: Json, [key, ...rest]: string[], entry: Json): Json {
  if (key === undefined) return entry;
  const object = value as Objects;
  return { ...object, [key]: placed(object[key] ?? {}, rest, entry) };
}

/** What stands at the path; null where nothing does. */
function objectAt(file: string, value: Json, path: string[]): Objects | null {
  let at: Json | undefined = value;
  for (const [index, key] of ['', ...path].entries()) {
    if (index > 0) at = (at as Objects)[key];
    if (at === undefined) return null;
    if (typeof at !== 'object' || at === null || Array.isArray(at))
      throw refused(file, index === 0 ? 'it is no JSON object' : `\`${path.slice(0, index).join('.')}\` in it is no object`);
  }
  return at as Objects;
}

/** One value at its place. What stands there is replaced; else it comes last in the nearest object there is, on lines of its own. */
function put(text: string, path: string[], value: Json): string {
  const { parseTree, findNodeAtLocation, getNodeValue } = jsonc();
  const tree = parseTree(text, [], { allowTrailingComma: true }) as Node;
  const there = findNodeAtLocation(tree, path);
  if (there) return isDeepStrictEqual(getNodeValue(there), value) ? text : set(text, path, value);
  let depth = path.length - 1;
  while (depth > 0 && !findNodeAtLocation(tree, path.slice(0, depth))) depth--;
  const [key, ...below] = path.slice(depth) as [string, ...string[]];
  const object = findNodeAtLocation(tree, path.slice(0, depth)) as Node;
  return append(text, object, key, placed({}, below, value)) ?? set(text, path, value);
}

/** Null where the object is empty, or its end has no line of its own. */
function append(text: string, object: Node, key: string, value: Json): string | null {
  const close = object.offset + object.length - 1;
  const line = text.lastIndexOf('\n', close) + 1;
  const indent = text.slice(line, close);
  const last = object.children?.at(-1);
  if (!last || /\S/.test(indent)) return null;
  const end = last.offset + last.length;
  const comma = text
    .slice(end, close)
    .replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\//g, '')
    .includes(',');
  const eol = eolOf(text);
  const inner = indent + indentOf(text);
  const written = JSON.stringify(value, null, indentOf(text)).replaceAll('\n', eol + inner);
  const entry = `${inner}${JSON.stringify(key)}: ${written}${comma ? ',' : ''}${eol}`;
  return `${text.slice(0, end)}${comma ? '' : ','}${text.slice(end, line)}${entry}${text.slice(line)}`;
}

/** `undefined` takes it away. */
function set(text: string, path: string[], value: Json | undefined): string {
  const { modify, applyEdits } = jsonc();
  const indent = indentOf(text);
  const formattingOptions = {
    insertSpaces: !indent.startsWith('\t'),
    tabSize: indent.startsWith('\t') ? 1 : indent.length,
    eol: eolOf(text),
  };
  return applyEdits(text, modify(text, path, value, { formattingOptions }));
}

function indentOf(text: string): string {
  return /^([ \t]+)["/]/m.exec(text)?.[1] ?? '  ';
}

function eolOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}

function parsed(file: string, text: string): Json {
  const { parse, printParseErrorCode } = jsonc();
  const errors: ParseError[] = [];
  let value: Json;
  try {
    value = parse(text, errors, { allowTrailingComma: true });
  } catch {
    throw refused(file, 'it is nested too deep');
  }
  const [first] = errors;
  if (!first) return value;
  const line = text.slice(0, first.offset).split('\n').length;
  throw refused(file, `line ${line} of it is not JSON (${printParseErrorCode(first.error)})`);
}

function refused(file: string, why: string): RetinueError {
  return new RetinueError('invalid_config', `${file} is left alone: ${why}; --print shows what to put in by hand`);
}

// Its main is an UMD module that no bundler can follow, so it stays outside the bundle.
function jsonc(): typeof import('jsonc-parser') {
  return createRequire(import.meta.url)('jsonc-parser');
}
