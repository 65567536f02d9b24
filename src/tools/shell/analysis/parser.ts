// Tree-sitter's grammar of bash, loaded when the first command is to be judged: it is WebAssembly of 1.5 MB, and most runs need no shell.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Parser, TreeCursor } from 'web-tree-sitter';
import { refuse } from './deny-command.ts';

/** A node of the tree as plain data. Places count UTF-16 units. */
export interface Node {
  type: string;
  /** False for a token that the grammar writes out, such as `;` or `do`. */
  named: boolean;
  field: string | null;
  start: number;
  end: number;
  children: Node[];
}

const maxNodes = 20_000;
const maxDepth = 60;
/** Some texts take the grammar very long. */
const maxMs = 500;
const grammar = 'tree-sitter-bash.wasm';

let loading: Promise<void> | null = null;
let parser: Parser | null = null;

/** Resolves when `parse` can be called. A load that failed is tried again by the next call. */
export function loadParser(): Promise<void> {
  loading ??= load().catch((error: unknown) => {
    loading = null;
    throw error;
  });
  return loading;
}

async function load(): Promise<void> {
  const { Language, Parser } = await import('web-tree-sitter');
  await Parser.init();
  const made = new Parser();
  made.setLanguage(await Language.load(await readFile(grammarFile())));
  parser = made;
}

/** Beside the bundle, where the build puts it; in the package it comes from when the sources are run. */
function grammarFile(): string {
  const built = ['./', '../'].map((up) => fileURLToPath(new URL(`${up}${grammar}`, import.meta.url)));
  return built.find((file) => existsSync(file)) ?? createRequire(import.meta.url).resolve(`tree-sitter-bash/${grammar}`);
}

/** Throws RetinueError `denied` for what is no bash, or nested too deeply. */
export function parse(source: string): Node {
  if (parser === null) throw new Error('the parser of shell commands is asked before it is loaded');
  const end = performance.now() + maxMs;
  const tree = parser.parse(source, null, { progressCallback: () => performance.now() > end });
  if (tree === null) return refuse('takes too long to parse', 'write it more simply');
  try {
    if (tree.rootNode.hasError)
      return refuse('does not parse as bash', 'check quotes and brackets, or write it as several simpler commands');
    return copied(tree.walk());
  } finally {
    tree.delete();
    parser.reset();
  }
}

/** The cursor is given back at once: left to the collector, its memory would be freed at a time when it is no longer its own. */
function copied(cursor: TreeCursor): Node {
  try {
    return copy(cursor, 0, { left: maxNodes });
  } finally {
    cursor.delete();
  }
}

function copy(cursor: TreeCursor, depth: number, count: { left: number }): Node {
  if (depth > maxDepth) refuse('is nested too deeply', 'write it as several simpler commands');
  if (--count.left < 0) refuse('has too many parts', 'write it as several simpler commands');
  if (cursor.nodeIsMissing) refuse('does not parse as bash', 'check quotes and brackets');
  const { nodeType: type, nodeIsNamed: named, currentFieldName: field, startIndex: start, endIndex: end } = cursor;
  const children: Node[] = [];
  if (cursor.gotoFirstChild()) {
    do children.push(copy(cursor, depth + 1, count));
    while (cursor.gotoNextSibling());
    cursor.gotoParent();
  }
  return { type, named, field, start, end, children };
}

export function* descendants(node: Node): Generator<Node> {
  yield node;
  for (const child of node.children) yield* descendants(child);
}
