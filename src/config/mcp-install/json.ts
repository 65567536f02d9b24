// Adds the server to a JSON file, with or without comments. Comments, order and the rest of the text stay as they are.
import { isDeepStrictEqual } from 'node:util';
import type { Node, ParseError } from 'jsonc-parser';
import type { Json } from '../../contract/json.ts';
import { loadJsoncParser } from '../json-document.ts';
import { type JsonEntry, type MergeResult, notChangedError, serverName } from './clients.ts';

type JsonObject = Record<string, Json>;

/** Keys of a server that is reached by an address; a client that finds both kinds may use either. */
const remoteKeys = ['url', 'serverUrl', 'headers', 'headersHelper', 'oauth', 'auth'];

export function mergeJson(file: string, text: string, entry: JsonEntry): MergeResult {
  const bom = text.startsWith('\ufeff') ? '\ufeff' : '';
  const body = text.slice(bom.length);
  if (body.trim() === '') return { text: `${bom}${JSON.stringify(newFileValue(entry), null, 2)}\n`, removed: [] };
  const before = parseFile(file, body);
  const path = [...containerPath(file, before, entry), serverName];
  const existing = objectAt(file, before, path);
  const wanted = { ...(existing === null ? { ...entry.always, ...entry.initial } : entry.always) };
  const changes =
    existing === null ? [{ path, value: wanted as Json }] : Object.entries(wanted).map(([key, value]) => ({ path: [...path, key], value }));
  const removed = Object.keys(existing ?? {}).filter((key) => isRemoteKey(key, existing as JsonObject, entry));
  const withChanges = changes.reduce((result, change) => putValue(result, change.path, change.value), body);
  const after = removed.reduce((result, key) => setValue(result, [...path, key], undefined), withChanges);
  const kept = Object.fromEntries(Object.entries(existing ?? {}).filter(([key]) => !removed.includes(key)));
  // The edit must change nothing else; a file with duplicate keys, for example, comes out different.
  if (!isDeepStrictEqual(parseFile(file, after), withValueAt(before, path, { ...kept, ...wanted })))
    throw notChangedError(file, 'it could not be changed without changing something else in it');
  return { text: bom + after, removed: removed.map((key) => [...path, key].join('.')) };
}

function isRemoteKey(key: string, existing: JsonObject, { always }: JsonEntry): boolean {
  return remoteKeys.includes(key) || (key === 'type' && always.type === undefined && existing.type !== 'stdio');
}

/** An object with a `type` is a server that happens to have the name of the container, not the container. */
function containerPath(file: string, value: Json, { path, nestedIn }: JsonEntry): string[] {
  if (nestedIn === undefined || objectAt(file, value, path)?.[nestedIn] === undefined) return path;
  const inner = objectAt(file, value, [...path, nestedIn]);
  return inner === null || 'type' in inner ? path : [...path, nestedIn];
}

function newFileValue({ path, always, initial, newFile }: JsonEntry): Json {
  return { ...newFile, ...(withValueAt({}, [...path, serverName], { ...always, ...initial }) as JsonObject) };
}

function withValueAt(value: Json, [key, ...rest]: string[], entry: Json): Json {
  if (key === undefined) return entry;
  const object = value as JsonObject;
  return { ...object, [key]: withValueAt(object[key] ?? {}, rest, entry) };
}

/** The object at the path; null if there is none. Throws if another kind of value is in the way. */
function objectAt(file: string, value: Json, path: string[]): JsonObject | null {
  let current: Json | undefined = value;
  for (const [index, key] of ['', ...path].entries()) {
    if (index > 0) current = (current as JsonObject)[key];
    if (current === undefined) return null;
    if (typeof current !== 'object' || current === null || Array.isArray(current))
      throw notChangedError(file, index === 0 ? 'it is not a JSON object' : `\`${path.slice(0, index).join('.')}\` is not an object`);
  }
  return current as JsonObject;
}

/** Replaces the value at the path, or appends it on lines of its own to the deepest existing object. */
function putValue(text: string, path: string[], value: Json): string {
  const { parseTree, findNodeAtLocation, getNodeValue } = loadJsoncParser();
  const tree = parseTree(text, [], { allowTrailingComma: true }) as Node;
  const existing = findNodeAtLocation(tree, path);
  if (existing) return isDeepStrictEqual(getNodeValue(existing), value) ? text : setValue(text, path, value);
  let depth = path.length - 1;
  while (depth > 0 && !findNodeAtLocation(tree, path.slice(0, depth))) depth--;
  const [key, ...below] = path.slice(depth) as [string, ...string[]];
  const object = findNodeAtLocation(tree, path.slice(0, depth)) as Node;
  return appendProperty(text, object, key, withValueAt({}, below, value)) ?? setValue(text, path, value);
}

/** Null if the object is empty or its closing bracket is not on a line of its own. */
function appendProperty(text: string, object: Node, key: string, value: Json): string | null {
  const close = object.offset + object.length - 1;
  const line = text.lastIndexOf('\n', close) + 1;
  const indent = text.slice(line, close);
  const last = object.children?.at(-1);
  if (!last || /\S/.test(indent)) return null;
  const end = last.offset + last.length;
  const hasTrailingComma = text
    .slice(end, close)
    .replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\//g, '')
    .includes(',');
  const eol = eolOf(text);
  const inner = indent + indentOf(text);
  const written = JSON.stringify(value, null, indentOf(text)).replaceAll('\n', eol + inner);
  const entry = `${inner}${JSON.stringify(key)}: ${written}${hasTrailingComma ? ',' : ''}${eol}`;
  return `${text.slice(0, end)}${hasTrailingComma ? '' : ','}${text.slice(end, line)}${entry}${text.slice(line)}`;
}

/** `undefined` removes the value. */
function setValue(text: string, path: string[], value: Json | undefined): string {
  const { modify, applyEdits } = loadJsoncParser();
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

function parseFile(file: string, text: string): Json {
  const { parse, printParseErrorCode } = loadJsoncParser();
  const errors: ParseError[] = [];
  let value: Json;
  try {
    value = parse(text, errors, { allowTrailingComma: true });
  } catch {
    throw notChangedError(file, 'it is nested too deep');
  }
  const [first] = errors;
  if (!first) return value;
  const line = text.slice(0, first.offset).split('\n').length;
  throw notChangedError(file, `line ${line} is not JSON (${printParseErrorCode(first.error)})`);
}
