import type { Tree } from './check-tree.ts';
import { refuse } from './deny-command.ts';
import type { Node } from './parser.ts';

/** Brackets that close as they open: bash, too, then reads arithmetic and not two subshells. */
export function checkArithmetic(tree: Tree, node: Node): void {
  const open = node.children[0]?.type === '((' ? 2 : 3;
  let depth = 0;
  for (let at = node.start + open; at < node.end - 2; ) {
    const hole = tree.holes.get(at);
    const char = tree.source[at] as string;
    if (!hole && !/[\w\s+\-*/%<>=!&|^~?:,()$#]/.test(char)) refuse('has arithmetic that cannot be judged', 'use plain numbers and names');
    if (!hole && char === '\n') refuse('has arithmetic over several lines', 'use one line');
    if (!hole) depth += char === '(' ? 1 : char === ')' ? -1 : 0;
    if (depth < 0) refuse('has `((`, which can be read in two ways', 'put a blank between the brackets');
    at = hole?.end ?? at + 1;
  }
  if (depth !== 0 || tree.source.slice(node.end - 2, node.end) !== '))')
    refuse('has arithmetic that cannot be judged', 'use plain numbers and names');
}
