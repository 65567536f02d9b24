// Checks that the tree can be trusted. Bash and the grammar both read the text; a command is analysed only where they cannot differ.
//
// 1. Every node type is known to the analysis.
// 2. Between tokens there are only blanks, line ends and continued lines, and a continued line does not join two tokens.
// 3. Whatever starts a substitution in the text starts one in the tree, or is in a place where bash expands nothing.
// 4. Here-documents end where bash ends them.
import { checkHeredoc } from './check-heredoc.ts';
import { denyCommand, writeSimpler } from './deny-command.ts';
import { type Node, walkNodes } from './parser.ts';

const statementTypes = `program list pipeline command redirected_statement subshell compound_statement do_group if_statement elif_clause else_clause
  while_statement for_statement c_style_for_statement case_statement case_item negated_command function_definition test_command
  declaration_command unset_command variable_assignment variable_assignments file_redirect heredoc_redirect herestring_redirect
  command_substitution process_substitution comment`;
const wordTypes = `command_name word string string_content raw_string ansi_c_string translated_string number concatenation expansion simple_expansion
  arithmetic_expansion brace_expression variable_name special_variable_name subscript array file_descriptor heredoc_start heredoc_body
  heredoc_content heredoc_end regex extglob_pattern test_operator`;
const expressionTypes = 'binary_expression unary_expression ternary_expression postfix_expression parenthesized_expression';
const knownTypes = new Set(`${statementTypes} ${wordTypes} ${expressionTypes}`.split(/\s+/));

/** Nodes that bash replaces before the command starts. */
const expandedTypes = new Set(['command_substitution', 'process_substitution', 'expansion', 'simple_expansion', 'arithmetic_expansion']);
/** Nodes in which bash expands nothing. */
const inertTypes = new Set(['raw_string', 'ansi_c_string', 'comment']);
export const loneDash = /^[ \t]+-[ \t]+$/;

export interface CheckedTree {
  source: string;
  nodes: Node[];
  /** Nodes that bash expands, by their start. */
  expansions: Map<number, Node>;
}

/** Throws RetinueError `denied` for a tree that bash may read differently. */
export function checkTree(source: string, root: Node): CheckedTree {
  const nodes = [...walkNodes(root)];
  const expansions = findExpansions(nodes);
  const inert: Node[] = [];
  for (const node of nodes) {
    if (node.named && !knownTypes.has(node.type)) denyCommand(`has a ${node.type}, which is not supported`, writeSimpler);
    checkGaps(source, node);
    if (inertTypes.has(node.type)) inert.push(node);
    if (node.type === 'comment') checkComment(source, node);
    if (node.type === 'heredoc_redirect') inert.push(...checkHeredoc(source, node, findExpansions(walkNodes(node))));
    if (node.type === 'command_substitution' || node.type === 'subshell') checkParentheses(source, node);
    if (node.type === 'ansi_c_string' && !/^\$'(?:[^'\\]|\\[\s\S])*'$/.test(source.slice(node.start, node.end))) {
      denyCommand("has an ambiguous $'…'", 'use other quotes');
    }
    if (node.type === 'expansion') checkExpansion(source, node);
  }
  checkExpansionMarks({ source, nodes, expansions }, inert);
  return { source, nodes, expansions };
}

/** Of several that start at the same position, the outermost. */
function findExpansions(nodes: Iterable<Node>): Map<number, Node> {
  const found = new Map<number, Node>();
  for (const each of nodes) if (expandedTypes.has(each.type) && !found.has(each.start)) found.set(each.start, each);
  return found;
}

function checkGaps(source: string, node: Node): void {
  if (node.type === 'heredoc_body' || node.type === 'string' || node.type === 'expansion') return;
  let at = node.start;
  for (const child of node.children) {
    checkGap(source, at, child.start, node);
    at = Math.max(at, child.end);
  }
  if (node.children.length > 0) checkGap(source, at, node.end, node);
}

function checkGap(source: string, from: number, to: number, node: Node): void {
  if (from >= to) return;
  const gap = source.slice(from, to);
  // The grammar drops a lone `-` before a here-document.
  if (node.type === 'redirected_statement' && loneDash.test(gap)) return;
  if (!/^(?:[ \t\n]|\\\n)*$/.test(gap)) denyCommand(`has ${JSON.stringify(gap.trim())} where it cannot be analysed`, writeSimpler);
  // Bash reads tokens that a continued line joins without a blank as one.
  if (/^(?:\\\n)+$/.test(gap)) denyCommand('continues a word on the next line', 'put a blank before the backslash');
  const isOneLine = node.type === 'command' || node.type === 'file_redirect' || node.type === 'declaration_command';
  if (isOneLine && gap.replaceAll('\\\n', '').includes('\n')) denyCommand('has a line end inside a command', writeSimpler);
}

function checkComment(source: string, { start, end }: Node): void {
  const before = source[start - 1] ?? '\n';
  if (!/[ \t\n;&|()]/.test(before) || source.slice(start, end).includes('\n'))
    denyCommand('has a `#` that may not start a comment', 'leave comments out');
}

/** `((` may be arithmetic or two subshells, and backslashes inside backticks are processed twice. */
function checkParentheses(source: string, { type, start, end, children }: Node): void {
  const text = source.slice(start, end);
  if (/^\$?\(\(/.test(text)) denyCommand('has `((`, which is ambiguous', 'put a blank between the brackets');
  if (type === 'subshell' || children[0]?.type === '$(') return;
  if (text.startsWith('$`') || text.includes('\\') || text.slice(1, -1).includes('`')) {
    denyCommand('has backslashes or backticks inside backticks', 'write $(…) instead');
  }
}

/** Quotes, braces and backslashes in `${…}` can move its end, which must be the first `}` outside nested expansions. */
function checkExpansion(source: string, node: Node): void {
  let rest = '';
  let at = node.start + 2;
  for (const [start, { end }] of [...findExpansions(walkNodes(node))].sort(([a], [b]) => a - b)) {
    if (start < at) continue;
    rest += source.slice(at, start);
    at = end;
  }
  rest += source.slice(at, node.end - 1);
  const quotes = rest.split('"').length - 1;
  const isUnclear = /['`{}\n]|\\["$`\\{}\n]|\\$/.test(rest) || quotes % 2 === 1;
  if (isUnclear || source[node.end - 1] !== '}')
    denyCommand('has quotes or braces inside an expansion', 'put the value into the text or use a script');
}

/** Denies text that bash would execute and the grammar took for plain text. */
function checkExpansionMarks({ source, nodes, expansions }: CheckedTree, inert: Node[]): void {
  const texts = nodes.filter(({ type }) => type === 'string_content' || type === 'heredoc_body');
  const ends = new Set([...expansions.values()].map(({ end }) => end - 1));
  for (const { index, 0: mark } of source.matchAll(/`|\$\(|\$\[|\$\{|[<>]\(/g)) {
    const isInert = inert.some(({ start, end }) => index >= start && index < end) || isEscaped(source, index);
    if (isInert || (mark === '`' && ends.has(index))) continue;
    if (mark !== '$[' && expansions.has(index)) continue;
    // Process substitutions are plain text inside double quotes and here-documents.
    if (/^[<>]/.test(mark) && texts.some(({ start, end }) => index >= start && index < end)) continue;
    denyCommand(`has ${mark} where it cannot be analysed`, writeSimpler);
  }
}

function isEscaped(source: string, index: number): boolean {
  let count = 0;
  while (source[index - 1 - count] === '\\') count++;
  return count % 2 === 1;
}
