// Parses YAML: the front matter of a Markdown file, between two lines of dashes, or a whole file. It is strict: no aliases, no tags, no duplicate keys,
// a size limit.
import { createRequire } from 'node:module';
import type { ParsedNode } from 'yaml';
import { RetinueError } from '../contract/error.ts';
import type { Json } from '../contract/json.ts';

export const maxHeadBytes = 65_536;

export interface FrontMatterEntry {
  key: string;
  value: Json;
  /** The line in the file, counted from 1. */
  line: number;
}

export interface FrontMatter {
  entries: FrontMatterEntry[];
  body: string;
}

/** Null if the file has no front matter. Throws `invalid_config` with file and line. */
export function parseFrontMatter(file: string, text: string): FrontMatter | null {
  const parts = /^\ufeff?---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)??---[ \t]*(?:\r?\n([\s\S]*))?$/.exec(text);
  if (parts === null) {
    if (!/^\ufeff?---[ \t]*\r?\n/.test(text)) return null;
    throw createProblem(file, 1, 'the front matter does not end; add a line with three dashes');
  }
  const [, head = '', body = ''] = parts;
  if (Buffer.byteLength(head) > maxHeadBytes) throw createProblem(file, 1, `the front matter is larger than ${maxHeadBytes} bytes`);
  try {
    return { entries: parseEntries(file, head), body: body.trim() };
  } catch (error) {
    const quoted = quoteDescription(head);
    if (quoted === null) throw error;
    try {
      return { entries: parseEntries(file, quoted), body: body.trim() };
    } catch {
      throw error; // The error about the original text has the right position.
    }
  }
}

/** A whole file of YAML, or of JSON, under the same rules. Throws `invalid_config` with file and line. */
export function parseYamlFile(file: string, text: string): FrontMatterEntry[] {
  if (Buffer.byteLength(text) > maxHeadBytes) throw createProblem(file, 1, `the file is larger than ${maxHeadBytes} bytes`);
  return parseEntries(file, text.replace(/^\ufeff/, ''), 0);
}

export function createProblem(file: string, line: number, message: string): RetinueError {
  return new RetinueError('invalid_config', `${file}:${line}: ${message}`);
}

/** Many descriptions contain colons, which YAML rejects without quotes. Quoting them affects no rights. */
function quoteDescription(head: string): string | null {
  const unquoted = /^description:[ \t]+(?!["'|>[{&*!])(.*?)\r?$/m;
  if (!unquoted.test(head)) return null;
  return head.replace(unquoted, (_, text: string) => `description: ${JSON.stringify(text.replaceAll('\\n', '\n'))}`);
}

/** `before`: the number of lines before the text. */
function parseEntries(file: string, head: string, before = 1): FrontMatterEntry[] {
  const { parseDocument, LineCounter, isMap, isScalar, visit } = loadYaml();
  const lines = new LineCounter();
  const lineAt = (offset: number) => lines.linePos(offset).line + before;
  const at = (offset: number, message: string) => createProblem(file, lineAt(offset), message);
  let tree: ReturnType<typeof parseDocument<ParsedNode>>;
  try {
    tree = parseDocument(head, { lineCounter: lines, prettyErrors: false, schema: 'core', merge: false, resolveKnownTags: false });
  } catch (error) {
    // The parser throws if brackets are nested too deeply for its recursion.
    throw createProblem(file, 1, `invalid YAML: ${(error as Error).message}`);
  }
  const [problem] = [...tree.errors, ...tree.warnings];
  if (problem) throw at(problem.pos[0], `invalid YAML: ${problem.message}`);
  visit(tree, {
    Alias(_, node) {
      throw at(node.range?.[0] ?? 0, 'aliases are not allowed');
    },
  });
  const { contents } = tree;
  if (contents === null) return [];
  if (!isMap(contents)) throw at(contents.range[0], `${before === 0 ? 'the file' : 'the front matter'} must consist of keys and values`);
  return contents.items.map(({ key, value }) => {
    if (!isScalar(key) || typeof key.value !== 'string') throw at((key as ParsedNode).range[0], 'a key must be a plain word');
    return { key: key.value, value: (value?.toJS(tree, { maxAliasCount: 0 }) ?? null) as Json, line: lineAt(key.range[0]) };
  });
}

/** Loaded on demand, because most commands parse no agent file. */
function loadYaml(): typeof import('yaml') {
  return createRequire(import.meta.url)('yaml');
}
