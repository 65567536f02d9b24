// Strict JSON with positions, so that every error about a configuration names file, line and column.
import { createRequire } from 'node:module';
import type { Node, ParseError } from 'jsonc-parser';
import { RetinueError } from '../contract/error.ts';
import type { Json } from '../contract/json.ts';
import { clipName } from '../text/suggest.ts';

export const maxConfigBytes = 1_048_576;
const maxNesting = 32;

export interface JsonDocument {
  file: string;
  value: Json;
  /** An error at the value of this path, or at its key if `atKey` is set. */
  problemAt(path: readonly PropertyKey[], message: string, atKey?: boolean): RetinueError;
}

/** Throws `invalid_config`. */
export function parseJsonDocument(file: string, bytes: Uint8Array): JsonDocument {
  const errorAt = (text: string, offset: number, message: string) => {
    const before = text.slice(0, offset).split('\n');
    return new RetinueError('invalid_config', `${file}:${before.length}:${(before.at(-1) as string).length + 1}: ${message}`);
  };
  if (bytes.length > maxConfigBytes) throw errorAt('', 0, `the file is larger than ${maxConfigBytes} bytes`);
  const text = new TextDecoder().decode(bytes);
  const replacement = text.indexOf('\ufffd');
  if (replacement >= 0 && !isUtf8(bytes)) throw errorAt(text, replacement, 'not UTF-8');
  const tooDeep = findTooDeep(text);
  if (tooDeep !== null) throw errorAt(text, tooDeep, `nested more than ${maxNesting} deep`);

  const { parseTree, printParseErrorCode } = loadJsoncParser();
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { disallowComments: true, allowTrailingComma: false });
  const [first] = errors;
  if (first) throw errorAt(text, first.offset, `not JSON: ${parseErrorText(printParseErrorCode(first.error))}`);
  if (!tree) throw errorAt(text, 0, 'not JSON: the file is empty');
  const duplicate = findDuplicateKey(tree);
  if (duplicate) throw errorAt(text, duplicate.offset, `duplicate key \`${clipName(String(duplicate.value))}\``);
  return {
    file,
    value: parseStrict(text, (message) => errorAt(text, 0, message)),
    problemAt: (path, message, atKey = false) => errorAt(text, offsetOf(tree, path, atKey), message),
  };
}

// Its main file is a UMD module that bundlers cannot follow, so it is required at run time.
export function loadJsoncParser(): typeof import('jsonc-parser') {
  return createRequire(import.meta.url)('jsonc-parser');
}

/** The tolerant parser only finds positions: what JSON.parse accepts counts as JSON. */
function parseStrict(text: string, problem: (message: string) => RetinueError): Json {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw problem(`not JSON: ${(error as Error).message}`);
  }
}

function offsetOf(tree: Node, path: readonly PropertyKey[], atKey: boolean): number {
  let node: Node = tree;
  let property: Node | undefined;
  for (const step of path) {
    property = node.type === 'object' ? node.children?.find((child) => child.children?.[0]?.value === step) : undefined;
    const next = property ? property.children?.[1] : node.children?.[Number(step)];
    if (!next) break;
    node = next;
  }
  return atKey && property ? property.offset : node.offset;
}

function findDuplicateKey(node: Node): Node | null {
  const seen = new Set<unknown>();
  for (const child of node.children ?? []) {
    const name = child.type === 'property' ? child.children?.[0] : undefined;
    if (name && seen.has(name.value)) return name;
    if (name) seen.add(name.value);
    const deeper = findDuplicateKey(child);
    if (deeper) return deeper;
  }
  return null;
}

/** Offset of the bracket that nests too deep for the recursive parser; brackets in strings do not count. */
function findTooDeep(text: string): number | null {
  let depth = 0;
  for (const match of text.matchAll(/"(?:[^"\\\n]|\\.)*"?|[[\]{}]/g)) {
    if (match[0] === '{' || match[0] === '[') depth++;
    if (match[0] === '}' || match[0] === ']') depth--;
    if (depth > maxNesting) return match.index;
  }
  return null;
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** `CommaExpected` → `comma expected`. */
function parseErrorText(code: string): string {
  return code === 'InvalidCommentToken' ? 'comments are not allowed' : code.replace(/(?<=[a-z])([A-Z])/g, ' $1').toLowerCase();
}
