// Parses bash with tree-sitter. The grammar is loaded for the first command: it is 1.5 MB of WebAssembly, and most runs use no shell.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Parser, TreeCursor } from 'web-tree-sitter';
import { denyCommand, writeSimpler } from './deny-command.ts';

/** A node of the tree as plain data. `start` and `end` count UTF-16 units. */
export interface Node {
  type: string;
  /** False for literal tokens of the grammar, such as `;` or `do`. */
  named: boolean;
  field: string | null;
  start: number;
  end: number;
  children: Node[];
}

const maxNodes = 20_000;
const maxDepth = 60;
/** The grammar takes very long for some texts. */
const maxMs = 500;
const grammar = 'tree-sitter-bash.wasm';

let loading: Promise<void> | null = null;
let parser: Parser | null = null;

/** Resolves when `parseBash` can be called. The next call retries a load that failed. */
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

/** The build puts the grammar next to the bundle; when running from source it is in its package. */
function grammarFile(): string {
  const built = ['./', '../'].map((up) => fileURLToPath(new URL(`${up}${grammar}`, import.meta.url)));
  return built.find((file) => existsSync(file)) ?? createRequire(import.meta.url).resolve(`tree-sitter-bash/${grammar}`);
}

/** Throws RetinueError `denied` for text that is not bash or is nested too deeply. */
export function parseBash(source: string): Node {
  if (parser === null) throw new Error('parseBash was called before loadParser resolved');
  const end = performance.now() + maxMs;
  const tree = parser.parse(source, null, { progressCallback: () => performance.now() > end });
  if (tree === null) return denyCommand('takes too long to parse', 'write it more simply');
  try {
    if (tree.rootNode.hasError)
      return denyCommand('does not parse as bash', 'check quotes and brackets, or write it as several simpler commands');
    return copyTree(tree.walk());
  } finally {
    tree.delete();
    parser.reset();
  }
}

/** Frees the cursor at once: if the garbage collector freed it later, its memory might already belong to another object. */
function copyTree(cursor: TreeCursor): Node {
  try {
    return copyNode(cursor, 0, { left: maxNodes });
  } finally {
    cursor.delete();
  }
}

function copyNode(cursor: TreeCursor, depth: number, count: { left: number }): Node {
  if (depth > maxDepth) denyCommand('is nested too deeply', writeSimpler);
  if (--count.left < 0) denyCommand('has too many parts', writeSimpler);
  if (cursor.nodeIsMissing) denyCommand('does not parse as bash', 'check quotes and brackets');
  const { nodeType: type, nodeIsNamed: named, currentFieldName: field, startIndex: start, endIndex: end } = cursor;
  const children: Node[] = [];
  if (cursor.gotoFirstChild()) {
    do children.push(copyNode(cursor, depth + 1, count));
    while (cursor.gotoNextSibling());
    cursor.gotoParent();
  }
  return { type, named, field, start, end, children };
}

export function* walkNodes(node: Node): Generator<Node> {
  yield node;
  for (const child of node.children) yield* walkNodes(child);
}
