/**
 * Whether the tree can be believed. Bash and the grammar are two readers of one text; a command is judged only where they cannot differ.
 *
 *  1. Every kind of node is one that the judge knows.
 *  2. Between tokens there is nothing but blanks, line ends and continued lines, and a continued line does not join two tokens.
 *  3. Whatever starts a substitution in the text starts one in the tree, or stands where bash expands nothing.
 *  4. Here-documents end where bash ends them.
 */
import { checkHeredoc } from './check-heredoc.ts';
import { refuse } from './deny-command.ts';
import { descendants, type Node } from './parser.ts';

const statements = `program list pipeline command redirected_statement subshell compound_statement do_group if_statement elif_clause else_clause
  while_statement for_statement c_style_for_statement case_statement case_item negated_command function_definition test_command
  declaration_command unset_command variable_assignment variable_assignments file_redirect heredoc_redirect herestring_redirect
  command_substitution process_substitution comment`;
const words = `command_name word string string_content raw_string ansi_c_string translated_string number concatenation expansion simple_expansion
  arithmetic_expansion brace_expression variable_name special_variable_name subscript array file_descriptor heredoc_start heredoc_body
  heredoc_content heredoc_end regex extglob_pattern test_operator`;
const expressions = 'binary_expression unary_expression ternary_expression postfix_expression parenthesized_expression';
const known = new Set(`${statements} ${words} ${expressions}`.split(/\s+/));

/** What bash replaces in a word before the command starts. */
const expanded = new Set(['command_substitution', 'process_substitution', 'expansion', 'simple_expansion', 'arithmetic_expansion']);
/** Here bash expands nothing. */
const inert = new Set(['raw_string', 'ansi_c_string', 'comment']);
export const loneDash = /^[ \t]+-[ \t]+$/;
const plainer = 'write it more simply';

export interface Tree {
  source: string;
  nodes: Node[];
  /** What is expanded, by the place where it begins. */
  holes: Map<number, Node>;
}

/** Throws RetinueError `denied` for a tree that bash may read differently. */
export function checkTree(source: string, root: Node): Tree {
  const nodes = [...descendants(root)];
  const holes = new Map<number, Node>();
  const quiet: Node[] = [];
  for (const node of nodes) {
    if (node.named && !known.has(node.type)) refuse(`has a ${node.type}, which is not judged`, plainer);
    if (node.type === 'ERROR') refuse('does not parse as bash', plainer);
    checkGaps(source, node);
    if (expanded.has(node.type) && !holes.has(node.start)) holes.set(node.start, node);
    if (inert.has(node.type)) quiet.push(node);
    if (node.type === 'comment') checkComment(source, node);
    if (node.type === 'heredoc_redirect') quiet.push(...checkHeredoc(source, node, holesIn(node)));
    if (node.type === 'command_substitution' || node.type === 'subshell') checkParentheses(source, node);
    if (node.type === 'ansi_c_string' && !/^\$'(?:[^'\\]|\\[\s\S])*'$/.test(source.slice(node.start, node.end))) {
      refuse("has a $'…' that can be read in two ways", 'use other quotes');
    }
    if (node.type === 'expansion') checkExpansion(source, node);
  }
  checkStarts({ source, nodes, holes }, quiet);
  return { source, nodes, holes };
}

function holesIn(node: Node): Map<number, Node> {
  const found = new Map<number, Node>();
  for (const each of descendants(node)) if (expanded.has(each.type) && !found.has(each.start)) found.set(each.start, each);
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
  if (!/^(?:[ \t\n]|\\\n)*$/.test(gap)) refuse(`has ${JSON.stringify(gap.trim())} where it cannot be judged`, plainer);
  // What a continued line joins without a blank is one token to bash.
  if (/^(?:\\\n)+$/.test(gap)) refuse('continues a word on the next line', 'put a blank before the backslash');
  const isOneLine = node.type === 'command' || node.type === 'file_redirect' || node.type === 'declaration_command';
  if (isOneLine && gap.replaceAll('\\\n', '').includes('\n')) refuse('has a line end inside a command', plainer);
}

function checkComment(source: string, { start, end }: Node): void {
  const before = source[start - 1] ?? '\n';
  if (!/[ \t\n;&|()]/.test(before) || source.slice(start, end).includes('\n'))
    refuse('has a `#` that may be no comment', 'leave comments out');
}

/** Two brackets are arithmetic to one reader and two subshells to the other; and backslashes in backticks are read twice. */
function checkParentheses(source: string, { type, start, end, children }: Node): void {
  const text = source.slice(start, end);
  if (/^\$?\(\(/.test(text)) refuse('has `((`, which can be read in two ways', 'put a blank between the brackets');
  if (type === 'subshell' || children[0]?.type === '$(') return;
  if (text.startsWith('$`') || text.includes('\\') || text.slice(1, -1).includes('`')) {
    refuse('has backslashes or backticks inside backticks', 'write $(…) instead');
  }
}

/** In `${…}` quotes, braces and backslashes can move the end; it is the first `}` outside what is nested. */
function checkExpansion(source: string, node: Node): void {
  let rest = '';
  let at = node.start + 2;
  for (const [start, hole] of [...holesIn(node)].sort(([a], [b]) => a - b)) {
    if (start < at) continue;
    rest += source.slice(at, start);
    at = hole.end;
  }
  rest += source.slice(at, node.end - 1);
  const quotes = rest.split('"').length - 1;
  const hard = /['`{}\n]|\\["$`\\{}\n]|\\$/.test(rest) || quotes % 2 === 1;
  if (hard || source[node.end - 1] !== '}')
    refuse('has quotes or braces inside an expansion', 'put the value into the text or use a script');
}

/** Nothing that bash would execute may have been taken for text. */
function checkStarts({ source, nodes, holes }: Tree, quiet: Node[]): void {
  const texts = nodes.filter(({ type }) => type === 'string_content' || type === 'heredoc_body');
  const ends = new Set([...holes.values()].map(({ end }) => end - 1));
  for (const { index, 0: mark } of source.matchAll(/`|\$\(|\$\[|\$\{|[<>]\(/g)) {
    const isQuiet = quiet.some(({ start, end }) => index >= start && index < end) || isEscaped(source, index);
    if (isQuiet || (mark === '`' && ends.has(index))) continue;
    if (mark !== '$[' && holes.has(index)) continue;
    // Between double quotes and in here-documents these are text.
    if (/^[<>]/.test(mark) && texts.some(({ start, end }) => index >= start && index < end)) continue;
    refuse(`has ${mark} where it cannot be judged`, plainer);
  }
}

function isEscaped(source: string, index: number): boolean {
  let count = 0;
  while (source[index - 1 - count] === '\\') count++;
  return count % 2 === 1;
}
