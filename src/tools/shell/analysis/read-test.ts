// Reads `[ … ]` and `[[ … ]]`.
import type { CheckedTree } from './check-tree.ts';
import { denyCommand } from './deny-command.ts';
import { findSubstitutions } from './inner-code.ts';
import type { Node } from './parser.ts';
import { addCommand, type ShellScript } from './read-command.ts';
import { createLiteralWord, readWord, type ShellWord } from './read-word.ts';

/** `[ … ]` is an ordinary command. `[[ … ]]` is not, but it evaluates its operands when it compares numbers. */
export function readTest(tree: CheckedTree, node: Node, script: ShellScript): void {
  const text = tree.source.slice(node.start, node.end);
  const open = node.children[0]?.type ?? '';
  if (open === '[[') {
    if (/[;\n]/.test(text) || !/\s\]\]$/.test(text)) denyCommand('has a [[ … ]] that cannot be analysed', 'write it more simply');
    const why = /[\s(!]-(eq|ne|lt|le|gt|ge|v|R)\b/.test(text) ? 'it evaluates the value of a variable' : null;
    if (why !== null) {
      script.hazards.push({ text: text.replace(/\s+/g, ' '), why });
      script.code.push(...findSubstitutions(text));
    } else
      script.commands.push({
        words: [createLiteralWord('[['), { ...createLiteralWord(text.slice(2, -2).trim()), literal: false }, createLiteralWord(']]')],
        assignments: [],
      });
    return;
  }
  const inside = node.children.slice(1, -1);
  if (inside.some(({ type }) => type === 'redirected_statement')) denyCommand('has a redirection inside [ ]', 'use test instead');
  addCommand(script, {
    words: [createLiteralWord('['), ...splitWords(tree, (node.children[0] as Node).end, node.end - 1), createLiteralWord(']')],
    assignments: [],
  });
}

/** Splits at blanks outside quotes and expansions. */
function splitWords(tree: CheckedTree, from: number, to: number): ShellWord[] {
  const found: ShellWord[] = [];
  let at = from;
  while (at < to) {
    if (/[ \t]/.test(tree.source[at] as string)) {
      at++;
      continue;
    }
    let end = at;
    while (end < to && !/[ \t]/.test(tree.source[end] as string)) end = tree.expansions.get(end)?.end ?? skipQuote(tree, end);
    found.push(readWord(tree, at, Math.min(end, to)));
    at = end;
  }
  return found;
}

function skipQuote({ source, expansions }: CheckedTree, at: number): number {
  const quote = source[at];
  if (quote === '\\') return at + 2;
  if (quote !== "'" && quote !== '"') return at + 1;
  let end = at + 1;
  while (end < source.length && source[end] !== quote) {
    if (quote === '"' && source[end] === '\\') end += 2;
    else end = (quote === '"' && expansions.get(end)?.end) || end + 1;
  }
  return end + 1;
}
