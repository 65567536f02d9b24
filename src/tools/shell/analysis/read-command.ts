// The words of simple commands. The grammar gives words behind a redirection to the redirection; to bash they are the command's.

import { loneDash, type Tree } from './check-tree.ts';
import { refuse } from './deny-command.ts';
import type { Node } from './parser.ts';
import { literalWord, readWord, type Word } from './read-word.ts';

export interface Simple {
  words: Word[];
  /** Names of variables that are set for this command alone. */
  sets: string[];
}

export interface Redirection {
  writes: boolean;
  operator: string;
  target: Word;
}

export interface Script {
  commands: Simple[];
  redirections: Redirection[];
  /** What is no command and yet no rule about commands may allow: text and why. */
  hazards: { text: string; why: string }[];
  /** Command lines in texts: what a shell reads from a here-document, what an index substitutes. */
  code: string[];
}

const reserved = new Set('if then else elif fi do done case esac while until for select function in { } ! [[ ]]'.split(' '));
const simpler = 'write it as several simpler commands';
const lone = literalWord('-');

/** Children that touch are one word to bash. */
export function runs(children: Node[]): [number, number][] {
  const found: [number, number][] = [];
  for (const { start, end } of children) {
    const last = found.at(-1);
    if (last !== undefined && last[1] === start) last[1] = end;
    else found.push([start, end]);
  }
  return found;
}

export function readCommand(tree: Tree, node: Node, more: Word[], script: Script): void {
  if (node.children.some(({ type }) => type === 'subshell')) refuse('has brackets after the name of a command', simpler);
  const isDeclaration = node.type !== 'command';
  const isWord = ({ type, named }: Node) =>
    !/^(file|herestring|heredoc)_redirect$/.test(type) &&
    (isDeclaration || type !== 'variable_assignment') &&
    (named ? type !== 'comment' : true);
  const words = runs(node.children.filter(isWord)).map(([start, end]) =>
    isDeclaration ? readLoosely(tree, start, end) : checkedWord(tree, start, end),
  );
  const sets = isDeclaration
    ? []
    : node.children.filter(({ type }) => type === 'variable_assignment').map((child) => tree.source.slice(child.start, child.end));
  addCommand(script, { words: [...words, ...more], sets });
}

/** Arrays have brackets that are no part of a word; a declaration is never safe, so it need not be read exactly. */
function readLoosely(tree: Tree, start: number, end: number): Word {
  const text = tree.source.slice(start, end);
  if (!text.includes('=(')) return checkedWord(tree, start, end);
  return { text, bare: text, literal: false, loose: 'it sets a variable', mask: text };
}

/** What stands around a word ends it for bash as well. */
export function checkedWord(tree: Tree, start: number, end: number): Word {
  const before = tree.source[start - 1] ?? ' ';
  const after = tree.source[end] ?? ' ';
  const isContinued = after === '\\' && tree.source[end + 1] === '\n';
  if (!/[ \t\n;&|()<>`]/.test(before) || !(isContinued || /[ \t\n;&|)<>`]/.test(after)))
    refuse('has words that touch', 'put blanks between words');
  // Directly before a redirection bash takes these for the descriptor.
  if (/[<>]/.test(after) && /^(\d+|\{\w+\})$/.test(tree.source.slice(start, end)))
    refuse('has words that touch', 'put blanks between words');
  return readWord(tree, start, end);
}

export function addCommand(script: Script, command: Simple): void {
  const [name] = command.words;
  if (name === undefined) return;
  if (reserved.has(name.mask)) refuse(`has \`${name.text}\` where a command begins`, simpler);
  script.commands.push(command);
}

export function readRedirected(tree: Tree, node: Node, script: Script): void {
  const body = node.children.find(({ field }) => field === 'body');
  const extra = node.children.flatMap((child) => extraWords(tree, child));
  const gaps = node.children.slice(1).map(({ start }, index) => tree.source.slice((node.children[index] as Node).end, start));
  const dashes = gaps.filter((gap) => loneDash.test(gap)).length;
  if (dashes > 1 || (dashes === 1 && (body?.type !== 'command' || !loneDash.test(gaps[0] as string)))) {
    refuse('has a `-` before a redirection', 'put the redirection at the end');
  }
  if (body !== undefined && body.type === 'command') {
    const dash = dashes === 1 ? [lone] : [];
    // The words behind the redirections are the command's too; it is found again with them, which makes nothing laxer.
    if (extra.length + dash.length > 0) readCommand(tree, body, [...dash, ...extra], script);
  } else if (body === undefined) addCommand(script, { words: extra, sets: [] });
  else if (extra.length > 0) refuse('has words after a redirection', 'put the redirection at the end');
}

function extraWords(tree: Tree, node: Node): Word[] {
  if (node.type === 'file_redirect')
    return destinations(node)
      .slice(1)
      .map(([start, end]) => checkedWord(tree, start, end));
  if (node.type !== 'heredoc_redirect') return [];
  const own = runs(node.children.filter(({ field }) => field === 'argument')).map(([start, end]) => checkedWord(tree, start, end));
  return [...own, ...node.children.flatMap((child) => extraWords(tree, child))];
}

function destinations(node: Node): [number, number][] {
  return runs(node.children.filter(({ field }) => field === 'destination'));
}

export function readRedirection(tree: Tree, node: Node): Redirection {
  const token = node.children.find(({ named }) => !named);
  const operator = token ? tree.source.slice(token.start, token.end) : '';
  const [first] = destinations(node);
  if (!/^(<|>|>>|&>|&>>|<&|>&|>\||<&-|>&-)$/.test(operator)) refuse(`has the redirection ${operator}`, 'use <, > or >>');
  if (first === undefined) return { writes: false, operator, target: lone };
  // `<>` is read as two signs, and opens a file for writing.
  const before = tree.source[node.start - 1] ?? ' ';
  if (/[<>}\w'"\\$]/.test(before) || operator.endsWith('&-')) refuse('has an unusual redirection', 'use <, > or >>');
  return { writes: operator !== '<' && operator !== '<&', operator, target: checkedWord(tree, first[0], first[1]) };
}
