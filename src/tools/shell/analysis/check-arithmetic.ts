// Arithmetic: denies what bash may read as subshells.
import type { CheckedTree } from './check-tree.ts';
import { denyCommand } from './deny-command.ts';
import type { Node } from './parser.ts';

const unclear: [string, string] = ['has arithmetic that cannot be analysed', 'use plain numbers and names'];

/** Denies unbalanced brackets, so that bash also reads arithmetic here and not two subshells. */
export function checkArithmetic(tree: CheckedTree, node: Node): void {
  const open = node.children[0]?.type === '((' ? 2 : 3;
  let depth = 0;
  for (let at = node.start + open; at < node.end - 2; ) {
    const expansion = tree.expansions.get(at);
    const char = tree.source[at] as string;
    if (!expansion && !/[\w\s+\-*/%<>=!&|^~?:,()$#]/.test(char)) denyCommand(...unclear);
    if (!expansion && char === '\n') denyCommand('has arithmetic over several lines', 'use one line');
    if (!expansion) depth += char === '(' ? 1 : char === ')' ? -1 : 0;
    if (depth < 0) denyCommand('has `((`, which is ambiguous', 'put a blank between the brackets');
    at = expansion?.end ?? at + 1;
  }
  if (depth !== 0 || tree.source.slice(node.end - 2, node.end) !== '))') denyCommand(...unclear);
}
