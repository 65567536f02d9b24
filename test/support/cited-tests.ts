// Pages cite tests as `test/file.test.ts` "words of the title". The words must be found in the title of exactly one test, or one group of tests, of
// that file: a test that is renamed or removed then fails the page, and words that fit two tests are no citation.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

const root = join(import.meta.dirname, '../..');

export const citation = /`(test\/[\w/.-]+\.test\.ts)` "([^"]+)"/g;

/** Also without words of a title. */
const testPath = /`(test\/[\w/.-]+\.tsx?)`/g;

/** What is wrong with the citations of a text, one line each. */
export function citationProblems(text: string): string[] {
  const paths = new Set([...text.matchAll(testPath)].map(([, path = '']) => path));
  const missing = [...paths].filter((path) => !existsSync(join(root, path))).map((path) => `${path} does not exist`);
  const wrong = [...text.matchAll(citation)].flatMap(([, path = '', words = '']) => {
    if (!existsSync(join(root, path))) return [];
    const found = testTitles(path).filter((title) => title.includes(words));
    return found.length === 1
      ? []
      : [`${path} has ${found.length} tests with "${words}"${found.map((title) => `\n  "${title}"`).join('')}`];
  });
  return [...missing, ...wrong];
}

interface Node {
  type: string;
  [key: string]: unknown;
}

const titles = new Map<string, string[]>();

/** Titles as they are written: a table of tests has one. Tests that are skipped have none. */
function testTitles(path: string): string[] {
  const known = titles.get(path);
  if (known) return known;
  const found: string[] = [];
  visit(parseAst(readFileSync(join(root, path), 'utf8'), { lang: 'ts' }) as unknown as Node, (node) => {
    if (node.type !== 'CallExpression' || !isTest(node.callee as Node)) return;
    const title = (node.arguments as Node[])[0];
    if (title?.type === 'Literal' && typeof title.value === 'string') found.push(title.value);
    if (title?.type === 'TemplateLiteral')
      found.push((title.quasis as { value: { cooked: string } }[]).map(({ value }) => value.cooked).join('…'));
  });
  titles.set(path, found);
  return found;
}

/** `test`, `it`, `describe`, and what they return: `test.each(…)`, `it.runIf(…)`. */
function isTest(callee: Node): boolean {
  if (callee.type === 'Identifier') return ['test', 'it', 'describe'].includes(callee.name as string);
  if (callee.type === 'CallExpression') return isTest(callee.callee as Node);
  if (callee.type !== 'MemberExpression') return false;
  const { name } = callee.property as Node;
  return name !== 'skip' && name !== 'todo' && isTest(callee.object as Node);
}

function visit(node: Node, look: (node: Node) => void): void {
  look(node);
  for (const value of Object.values(node))
    for (const each of Array.isArray(value) ? value : [value])
      if (each !== null && typeof each === 'object' && typeof (each as Node).type === 'string') visit(each as Node, look);
}
