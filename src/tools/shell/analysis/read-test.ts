import type { Tree } from './check-tree.ts';
import { substituted } from './command-aliases.ts';
import { refuse } from './deny-command.ts';
import type { Node } from './parser.ts';
import { addCommand, type Script } from './read-command.ts';
import { literalWord, readWord, type Word } from './read-word.ts';

/** `[ … ]` is a command like others; `[[ … ]]` is none, but compares numbers by evaluating them. */
export function readTest(tree: Tree, node: Node, script: Script): void {
  const text = tree.source.slice(node.start, node.end);
  const open = node.children[0]?.type ?? '';
  if (open === '[[') {
    if (/[;\n]/.test(text) || !/\s\]\]$/.test(text)) refuse('has a [[ … ]] that cannot be judged', 'write it more simply');
    const why = /[\s(!]-(eq|ne|lt|le|gt|ge|v|R)\b/.test(text) ? 'it evaluates what is in a variable' : null;
    if (why !== null) {
      script.hazards.push({ text: text.replace(/\s+/g, ' '), why });
      script.code.push(...substituted(text));
    } else
      script.commands.push({
        words: [literalWord('[['), { ...literalWord(text.slice(2, -2).trim()), literal: false }, literalWord(']]')],
        sets: [],
      });
    return;
  }
  const inside = node.children.slice(1, -1);
  if (inside.some(({ type }) => type === 'redirected_statement')) refuse('has a redirection inside [ ]', 'use test instead');
  addCommand(script, {
    words: [literalWord('['), ...splitWords(tree, (node.children[0] as Node).end, node.end - 1), literalWord(']')],
    sets: [],
  });
}

/** Splits at blanks that are not inside quotes or expansions. */
function splitWords(tree: Tree, from: number, to: number): Word[] {
  const found: Word[] = [];
  let at = from;
  while (at < to) {
    if (/[ \t]/.test(tree.source[at] as string)) {
      at++;
      continue;
    }
    let end = at;
    while (end < to && !/[ \t]/.test(tree.source[end] as string)) end = tree.holes.get(end)?.end ?? skipQuote(tree, end);
    found.push(readWord(tree, at, Math.min(end, to)));
    at = end;
  }
  return found;
}

function skipQuote({ source, holes }: Tree, at: number): number {
  const quote = source[at];
  if (quote === '\\') return at + 2;
  if (quote !== "'" && quote !== '"') return at + 1;
  let end = at + 1;
  while (end < source.length && source[end] !== quote) {
    if (quote === '"' && source[end] === '\\') end += 2;
    else end = (quote === '"' && holes.get(end)?.end) || end + 1;
  }
  return end + 1;
}
