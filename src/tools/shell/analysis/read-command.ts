// Reads the words of simple commands. The grammar assigns words after a redirection to the redirection; for bash they belong to the command.

import { type CheckedTree, loneDash } from './check-tree.ts';
import { denyCommand, writeSimpler } from './deny-command.ts';
import type { Node } from './parser.ts';
import { createLiteralWord, readWord, type ShellWord } from './read-word.ts';

export interface SimpleCommand {
  words: ShellWord[];
  /** Variables set for this command alone, as written (`NAME=value`). */
  assignments: string[];
}

export interface Redirection {
  writes: boolean;
  operator: string;
  target: ShellWord;
}

export interface ShellScript {
  commands: SimpleCommand[];
  redirections: Redirection[];
  /** Constructs that are not commands but make the script unsafe: their text and the reason. */
  hazards: { text: string; why: string }[];
  /** Command lines inside texts: a here-document for a shell, a substitution in an index. */
  code: string[];
}

const reserved = new Set('if then else elif fi do done case esac while until for select function in { } ! [[ ]]'.split(' '));
const dashWord = createLiteralWord('-');

/** Bash reads adjacent children as one word. Returns start and end of each. */
export function joinTouching(children: Node[]): [number, number][] {
  const found: [number, number][] = [];
  for (const { start, end } of children) {
    const last = found.at(-1);
    if (last !== undefined && last[1] === start) last[1] = end;
    else found.push([start, end]);
  }
  return found;
}

export function readCommand(tree: CheckedTree, node: Node, more: ShellWord[], script: ShellScript): void {
  if (node.children.some(({ type }) => type === 'subshell')) denyCommand('has brackets after the name of a command', writeSimpler);
  const isDeclaration = node.type !== 'command';
  const isWord = ({ type, named }: Node) =>
    !/^(file|herestring|heredoc)_redirect$/.test(type) &&
    (isDeclaration || type !== 'variable_assignment') &&
    (named ? type !== 'comment' : true);
  const words = joinTouching(node.children.filter(isWord)).map(([start, end]) =>
    isDeclaration ? readDeclarationWord(tree, start, end) : readCheckedWord(tree, start, end),
  );
  const assignments = isDeclaration
    ? []
    : node.children.filter(({ type }) => type === 'variable_assignment').map((child) => tree.source.slice(child.start, child.end));
  addCommand(script, { words: [...words, ...more], assignments });
}

/** The brackets of an array are not part of a word. A declaration is always unsafe, so it need not be read exactly. */
function readDeclarationWord(tree: CheckedTree, start: number, end: number): ShellWord {
  const text = tree.source.slice(start, end);
  if (!text.includes('=(')) return readCheckedWord(tree, start, end);
  return { text, bare: text, literal: false, unknownReason: 'it sets a variable', mask: text };
}

/** Denies a word whose neighbouring characters do not end it for bash as well. */
export function readCheckedWord(tree: CheckedTree, start: number, end: number): ShellWord {
  const before = tree.source[start - 1] ?? ' ';
  const after = tree.source[end] ?? ' ';
  const isContinued = after === '\\' && tree.source[end + 1] === '\n';
  if (!/[ \t\n;&|()<>`]/.test(before) || !(isContinued || /[ \t\n;&|)<>`]/.test(after)))
    denyCommand('has words that touch', 'put blanks between words');
  // Directly before a redirection bash reads these as the file descriptor.
  if (/[<>]/.test(after) && /^(\d+|\{\w+\})$/.test(tree.source.slice(start, end)))
    denyCommand('has words that touch', 'put blanks between words');
  return readWord(tree, start, end);
}

export function addCommand(script: ShellScript, command: SimpleCommand): void {
  const [name] = command.words;
  if (name === undefined) return;
  if (reserved.has(name.mask)) denyCommand(`has \`${name.text}\` where a command begins`, writeSimpler);
  script.commands.push(command);
}

export function readRedirectedStatement(tree: CheckedTree, node: Node, script: ShellScript): void {
  const body = node.children.find(({ field }) => field === 'body');
  const extra = node.children.flatMap((child) => readTrailingWords(tree, child));
  const gaps = node.children.slice(1).map(({ start }, index) => tree.source.slice((node.children[index] as Node).end, start));
  const dashes = gaps.filter((gap) => loneDash.test(gap)).length;
  if (dashes > 1 || (dashes === 1 && (body?.type !== 'command' || !loneDash.test(gaps[0] as string)))) {
    denyCommand('has a `-` before a redirection', 'put the redirection at the end');
  }
  if (body !== undefined && body.type === 'command') {
    const dash = dashes === 1 ? [dashWord] : [];
    // The words after the redirections belong to the command too. It is added again with them; the extra entry cannot allow more.
    if (extra.length + dash.length > 0) readCommand(tree, body, [...dash, ...extra], script);
  } else if (body === undefined) addCommand(script, { words: extra, assignments: [] });
  else if (extra.length > 0) denyCommand('has words after a redirection', 'put the redirection at the end');
}

function readTrailingWords(tree: CheckedTree, node: Node): ShellWord[] {
  if (node.type === 'file_redirect')
    return destinations(node)
      .slice(1)
      .map(([start, end]) => readCheckedWord(tree, start, end));
  if (node.type !== 'heredoc_redirect') return [];
  const own = joinTouching(node.children.filter(({ field }) => field === 'argument')).map(([start, end]) =>
    readCheckedWord(tree, start, end),
  );
  return [...own, ...node.children.flatMap((child) => readTrailingWords(tree, child))];
}

function destinations(node: Node): [number, number][] {
  return joinTouching(node.children.filter(({ field }) => field === 'destination'));
}

export function readRedirection(tree: CheckedTree, node: Node): Redirection {
  const token = node.children.find(({ named }) => !named);
  const operator = token ? tree.source.slice(token.start, token.end) : '';
  const [first] = destinations(node);
  if (!/^(<|>|>>|&>|&>>|<&|>&|>\||<&-|>&-)$/.test(operator)) denyCommand(`has the redirection ${operator}`, 'use <, > or >>');
  if (first === undefined) return { writes: false, operator, target: dashWord };
  // The grammar reads `<>` as two operators, but it opens a file for writing.
  const before = tree.source[node.start - 1] ?? ' ';
  if (/[<>}\w'"\\$]/.test(before) || operator.endsWith('&-')) denyCommand('has an unusual redirection', 'use <, > or >>');
  return { writes: operator !== '<' && operator !== '<&', operator, target: readCheckedWord(tree, first[0], first[1]) };
}
