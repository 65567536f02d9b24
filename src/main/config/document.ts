// Strict JSON with positions: every complaint about a configuration names file, line and column.
import { createRequire } from 'node:module';
import type { Node, ParseError } from 'jsonc-parser';
import { RetinueError } from '../../contract/error.ts';
import type { Json } from '../../contract/json.ts';
import { clipName } from '../../text/suggest.ts';

export const maxConfigBytes = 1_048_576;
const maxNesting = 32;

export interface Document {
  file: string;
  value: Json;
  /** An error about what stands at this path: at its key where `key` is set, else at its value. */
  problem(path: readonly PropertyKey[], message: string, key?: boolean): RetinueError;
}

/** Reads the text of a configuration. Throws `invalid_config`. */
export function readDocument(file: string, bytes: Uint8Array): Document {
  const at = (text: string, offset: number, message: string) => {
    const before = text.slice(0, offset).split('\n');
    return new RetinueError('invalid_config', `${file}:${before.length}:${(before.at(-1) as string).length + 1}: ${message}`);
  };
  if (bytes.length > maxConfigBytes) throw at('', 0, `a configuration of more than ${maxConfigBytes} bytes is refused`);
  const text = new TextDecoder().decode(bytes);
  const broken = text.indexOf('\ufffd');
  if (broken >= 0 && !isUtf8(bytes)) throw at(text, broken, 'not UTF-8');
  const deep = tooDeep(text);
  if (deep !== null) throw at(text, deep, `nested more than ${maxNesting} deep`);

  const { parseTree, printParseErrorCode } = jsonc();
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { disallowComments: true, allowTrailingComma: false });
  const [first] = errors;
  if (first) throw at(text, first.offset, `not JSON: ${complaint(printParseErrorCode(first.error))}`);
  if (!tree) throw at(text, 0, 'not JSON: the file is empty');
  const twice = duplicate(tree);
  if (twice) throw at(text, twice.offset, `the key \`${clipName(String(twice.value))}\` is there twice`);
  return {
    file,
    value: parsed(text, (message) => at(text, 0, message)),
    problem: (path, message, key = false) => at(text, offsetOf(tree, path, key), message),
  };
}

// Its main is an UMD module that no bundler can follow, so it stays outside the bundle.
function jsonc(): typeof import('jsonc-parser') {
  return createRequire(import.meta.url)('jsonc-parser');
}

/** The tolerant parser finds places; what counts as JSON is what JSON.parse takes. */
function parsed(text: string, problem: (message: string) => RetinueError): Json {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw problem(`not JSON: ${(error as Error).message}`);
  }
}

function offsetOf(tree: Node, path: readonly PropertyKey[], key: boolean): number {
  let node: Node = tree;
  let property: Node | undefined;
  for (const step of path) {
    property = node.type === 'object' ? node.children?.find((child) => child.children?.[0]?.value === step) : undefined;
    const next = property ? property.children?.[1] : node.children?.[Number(step)];
    if (!next) break;
    node = next;
  }
  return key && property ? property.offset : node.offset;
}

function duplicate(node: Node): Node | null {
  const seen = new Set<unknown>();
  for (const child of node.children ?? []) {
    const name = child.type === 'property' ? child.children?.[0] : undefined;
    if (name && seen.has(name.value)) return name;
    if (name) seen.add(name.value);
    const deeper = duplicate(child);
    if (deeper) return deeper;
  }
  return null;
}

/** Where brackets outside strings are nested too deep for a parser that calls itself. */
function tooDeep(text: string): number | null {
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
function complaint(code: string): string {
  return code === 'InvalidCommentToken' ? 'comments are not allowed' : code.replace(/(?<=[a-z])([A-Z])/g, ' $1').toLowerCase();
}
