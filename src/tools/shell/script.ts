// From the tree of a command line to what it would start: a flat list, because it does not matter to a rule where a command stands.
import { type Node, parse } from './parser.ts';
import { refuse } from './refuse.ts';
import { checkTree, loneDash, type Tree } from './tree.ts';
import { readWord, type Word } from './word.ts';

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
}

const maxCommands = 50;
const maxWords = 2_000;
const reserved = new Set('if then else elif fi do done case esac while until for select function in { } ! [[ ]]'.split(' '));
const plainVariable = /^(?!histchars$|auto_resume$)[a-z][a-z0-9_]*$/;
const simpler = 'write it as several simpler commands';

export function readScript(source: string): Script {
  const tree = checkTree(source, parse(source));
  const script: Script = { commands: [], redirections: [], hazards: [] };
  const parents = new Map(tree.nodes.flatMap((node) => node.children.map((child) => [child, node] as const)));
  for (const node of tree.nodes) readNode(tree, node, { script, parents });
  const count = script.commands.length + script.hazards.length + script.redirections.length;
  if (count > maxCommands) refuse(`has more than ${maxCommands} parts`, simpler);
  if (script.commands.reduce((sum, { words }) => sum + words.length, 0) > maxWords) refuse(`has more than ${maxWords} words`, simpler);
  return script;
}

interface Reading {
  script: Script;
  parents: Map<Node, Node>;
}

function readNode(tree: Tree, node: Node, { script, parents }: Reading): void {
  const text = tree.source.slice(node.start, node.end).replace(/\s+/g, ' ');
  const hazard = (why: string, shown = text) => script.hazards.push({ text: shown, why });
  switch (node.type) {
    case 'command':
      return readCommand(tree, node, [], script);
    case 'declaration_command':
    case 'unset_command':
      return readCommand(tree, node, [], script);
    case 'redirected_statement':
      return readRedirected(tree, node, script);
    case 'file_redirect':
      script.redirections.push(readRedirection(tree, node));
      return;
    case 'test_command':
      return readTest(tree, node, script);
    case 'herestring_redirect':
      for (const [start, end] of runs(node.children.filter(({ named, type }) => named && type !== 'file_descriptor'))) checkedWord(tree, start, end);
      return;
    case 'variable_assignment':
    case 'variable_assignments':
      for (const { start, end } of node.children.filter(({ field, type }) => field === 'value' && type !== 'array')) {
        if (start < end) readWord(tree, start, end);
      }
      if (!['command', 'declaration_command', 'variable_assignments'].includes(parents.get(node)?.type ?? '')) hazard('it sets a variable');
      return;
    case 'function_definition':
      hazard('a function can stand in the place of any command', `${tree.source.slice(node.start, node.end).split(/[\s({]/, 1)[0]}()`);
      return;
    case 'for_statement': {
      const name = node.children.find(({ field }) => field === 'variable');
      const variable = name ? tree.source.slice(name.start, name.end) : '';
      if (!plainVariable.test(variable)) hazard('it sets a variable', `for ${variable}`);
      for (const [start, end] of runs(node.children.filter(({ field }) => field === 'value'))) readWord(tree, start, end);
      return;
    }
    case 'case_statement':
    case 'case_item':
      for (const [start, end] of runs(node.children.filter(({ field }) => field === 'value'))) readWord(tree, start, end);
      return;
    case 'array':
      for (const [start, end] of runs(node.children.filter(({ named, type }) => named && type !== 'comment'))) readWord(tree, start, end);
      return;
    case 'c_style_for_statement':
      hazard('arithmetic can set variables and start commands', 'for ((…))');
      return;
    case 'compound_statement':
      if (node.children[0]?.type !== '((') return;
      checkArithmetic(tree, node);
      hazard('arithmetic can set variables and start commands');
      return;
    case 'arithmetic_expansion':
      checkArithmetic(tree, node);
      if (/[A-Za-z_$`]/.test(text.slice(1))) hazard('arithmetic can set variables and start commands');
      return;
    case 'expansion':
      if (/^\$\{!|@[A-Za-z]?\}$|\[(?![\d@*]+\])|^\$\{#?\w+(?::?=|:(?![-+?]))/.test(text)) hazard('it sets variables or evaluates what is in one');
      return;
    case 'subscript':
      hazard('the index of an array can start commands');
  }
}

/** Children that touch are one word to bash. */
function runs(children: Node[]): [number, number][] {
  const found: [number, number][] = [];
  for (const { start, end } of children) {
    const last = found.at(-1);
    if (last !== undefined && last[1] === start) last[1] = end;
    else found.push([start, end]);
  }
  return found;
}

function readCommand(tree: Tree, node: Node, more: Word[], script: Script): void {
  if (node.children.some(({ type }) => type === 'subshell')) refuse('has brackets after the name of a command', simpler);
  const isDeclaration = node.type !== 'command';
  const isWord = ({ type, named }: Node) =>
    !/^(file|herestring|heredoc)_redirect$/.test(type) && (isDeclaration || type !== 'variable_assignment') && (named ? type !== 'comment' : true);
  const words = runs(node.children.filter(isWord)).map(([start, end]) => (isDeclaration ? readLoosely(tree, start, end) : checkedWord(tree, start, end)));
  const sets = isDeclaration ? [] : node.children.filter(({ type }) => type === 'variable_assignment').map((child) => tree.source.slice(child.start, child.end));
  add(script, { words: [...words, ...more], sets });
}

/** Arrays have brackets that are no part of a word; a declaration is never safe, so it need not be read exactly. */
function readLoosely(tree: Tree, start: number, end: number): Word {
  const text = tree.source.slice(start, end);
  if (/^[\w.=/-]+$/.test(text)) return readWord(tree, start, end);
  return { text, bare: text, literal: false, loose: 'it sets a variable', mask: text };
}

/** What stands around a word ends it for bash as well. */
function checkedWord(tree: Tree, start: number, end: number): Word {
  const before = tree.source[start - 1] ?? ' ';
  const after = tree.source[end] ?? ' ';
  const isContinued = after === '\\' && tree.source[end + 1] === '\n';
  if (!/[ \t\n;&|()<>`]/.test(before) || !(isContinued || /[ \t\n;&|)<>`]/.test(after))) refuse('has words that touch', 'put blanks between words');
  return readWord(tree, start, end);
}

function add(script: Script, command: Simple): void {
  const [name] = command.words;
  if (name === undefined) return;
  if (reserved.has(name.mask)) refuse(`has \`${name.text}\` where a command begins`, simpler);
  script.commands.push(command);
}

function readRedirected(tree: Tree, node: Node, script: Script): void {
  const body = node.children.find(({ field }) => field === 'body');
  const extra = node.children.flatMap((child) => extraWords(tree, child));
  if (body !== undefined && body.type === 'command') {
    const next = node.children[node.children.indexOf(body) + 1];
    const dash = next !== undefined && loneDash.test(tree.source.slice(body.end, next.start)) ? [lone] : [];
    // The words behind the redirections are the command's too; it is found again with them, which makes nothing laxer.
    if (extra.length + dash.length > 0) readCommand(tree, body, [...dash, ...extra], script);
  } else if (body === undefined) add(script, { words: extra, sets: [] });
  else if (extra.length > 0) refuse('has words after a redirection', 'put the redirection at the end');
}

const lone: Word = { text: '-', bare: '-', literal: true, loose: null, mask: '-' };

function extraWords(tree: Tree, node: Node): Word[] {
  if (node.type === 'file_redirect') return destinations(node).slice(1).map(([start, end]) => checkedWord(tree, start, end));
  if (node.type !== 'heredoc_redirect') return [];
  const own = runs(node.children.filter(({ field }) => field === 'argument')).map(([start, end]) => checkedWord(tree, start, end));
  return [...own, ...node.children.flatMap((child) => extraWords(tree, child))];
}

function destinations(node: Node): [number, number][] {
  return runs(node.children.filter(({ field }) => field === 'destination'));
}

function readRedirection(tree: Tree, node: Node): Redirection {
  const token = node.children.find(({ named }) => !named);
  const operator = token ? tree.source.slice(token.start, token.end) : '';
  const [first] = destinations(node);
  if (!/^(<|>|>>|&>|&>>|<&|>&|>\||<&-|>&-)$/.test(operator)) refuse(`has the redirection ${operator}`, 'use <, > or >>');
  if (first === undefined) return { writes: false, operator, target: lone };
  // `<>` is read as two signs, and opens a file for writing.
  const before = tree.source[node.start - 1] ?? ' ';
  if (/[<>}]/.test(before) || operator.endsWith('&-')) refuse('has an unusual redirection', 'use <, > or >>');
  return { writes: operator !== '<' && operator !== '<&', operator, target: readWord(tree, first[0], first[1]) };
}

/** `[ … ]` is a command like others; `[[ … ]]` is none, but compares numbers by evaluating them. */
function readTest(tree: Tree, node: Node, script: Script): void {
  const text = tree.source.slice(node.start, node.end);
  const open = node.children[0]?.type ?? '';
  if (open === '[[') {
    if (/[;\n]/.test(text) || !/\s\]\]$/.test(text)) refuse('has a [[ … ]] that cannot be judged', simpler);
    const why = /\s-(eq|ne|lt|le|gt|ge|v|R)\s/.test(text) ? 'it evaluates what is in a variable' : null;
    if (why !== null) script.hazards.push({ text: text.replace(/\s+/g, ' '), why });
    else script.commands.push({ words: [literal('[['), { ...literal(text.slice(2, -2).trim()), literal: false }, literal(']]')], sets: [] });
    return;
  }
  const inside = node.children.slice(1, -1);
  if (inside.some(({ type }) => type === 'redirected_statement')) refuse('has a redirection inside [ ]', 'use test instead');
  add(script, { words: [literal('['), ...splitWords(tree, (node.children[0] as Node).end, node.end - 1), literal(']')], sets: [] });
}

function literal(text: string): Word {
  return { text, bare: text, literal: true, loose: null, mask: text };
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

/** Brackets that close as they open: bash, too, then reads arithmetic and not two subshells. */
function checkArithmetic(tree: Tree, node: Node): void {
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
  if (depth !== 0 || tree.source.slice(node.end - 2, node.end) !== '))') refuse('has arithmetic that cannot be judged', 'use plain numbers and names');
}
