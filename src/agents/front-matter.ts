// The head of a Markdown file: YAML between two lines of dashes. Strict: no aliases, no tags, no key twice, a cap on its size.
import { createRequire } from 'node:module';
import type { LineCounter, ParsedNode } from 'yaml';
import { RetinueError } from '../contract/error.ts';
import type { Json } from '../contract/json.ts';

export const maxHeadBytes = 65_536;

export interface Entry {
  key: string;
  value: Json;
  /** Counted from 1 in the whole file. */
  line: number;
}

export interface FrontMatter {
  entries: Entry[];
  body: string;
}

/** Null where the file has no front matter at all. Throws `invalid_config` that names file and line. */
export function readFrontMatter(file: string, text: string): FrontMatter | null {
  const parts = /^\ufeff?---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)??---[ \t]*(?:\r?\n([\s\S]*))?$/.exec(text);
  if (parts === null) {
    if (!/^\ufeff?---[ \t]*\r?\n/.test(text)) return null;
    throw problemAt(file, 1, 'the front matter has no end: a line of three dashes is missing');
  }
  const [, head = '', body = ''] = parts;
  if (Buffer.byteLength(head) > maxHeadBytes) throw problemAt(file, 1, `front matter of more than ${maxHeadBytes} bytes is refused`);
  try {
    return { entries: parse(file, head), body: body.trim() };
  } catch (error) {
    const quoted = withQuotedDescription(head);
    if (quoted === null) throw error;
    try {
      return { entries: parse(file, quoted), body: body.trim() };
    } catch {
      throw error;
    }
  }
}

export function problemAt(file: string, line: number, message: string): RetinueError {
  return new RetinueError('invalid_config', `${file}:${line}: ${message}`);
}

/** Descriptions in the wild are sentences with colons in them, which YAML does not take unquoted. They touch no rights. */
function withQuotedDescription(head: string): string | null {
  const plain = /^description:[ \t]+(?!["'|>[{&*!])(.*?)\r?$/m;
  if (!plain.test(head)) return null;
  return head.replace(plain, (_, text: string) => `description: ${JSON.stringify(text.replaceAll('\\n', '\n'))}`);
}

function parse(file: string, head: string): Entry[] {
  const { parseDocument, LineCounter, isMap, isScalar, visit } = yaml();
  const lines = new LineCounter();
  const at = (offset: number, message: string) => problemAt(file, lineOf(lines, offset), message);
  let tree: ReturnType<typeof parseDocument<ParsedNode>>;
  try {
    tree = parseDocument(head, { lineCounter: lines, prettyErrors: false, schema: 'core', merge: false, resolveKnownTags: false });
  } catch (error) {
    // Brackets nested deeper than the parser's own calls may go.
    throw problemAt(file, 1, `not YAML: ${(error as Error).message}`);
  }
  const [wrong] = [...tree.errors, ...tree.warnings];
  if (wrong) throw at(wrong.pos[0], `not YAML: ${wrong.message}`);
  visit(tree, {
    Alias(_, node) {
      throw at(node.range?.[0] ?? 0, 'aliases are not allowed');
    },
  });
  const { contents } = tree;
  if (contents === null) return [];
  if (!isMap(contents)) throw at(contents.range[0], 'the front matter must be keys with values');
  return contents.items.map(({ key, value }) => {
    if (!isScalar(key) || typeof key.value !== 'string') throw at((key as ParsedNode).range[0], 'a key must be a word');
    return { key: key.value, value: (value?.toJS(tree, { maxAliasCount: 0 }) ?? null) as Json, line: lineOf(lines, key.range[0]) };
  });
}

/** One more than in the head alone: a line of dashes stands before it. */
function lineOf(lines: LineCounter, offset: number): number {
  return lines.linePos(offset).line + 1;
}

// Loaded only where there is a file to read: most commands need none.
function yaml(): typeof import('yaml') {
  return createRequire(import.meta.url)('yaml');
}
