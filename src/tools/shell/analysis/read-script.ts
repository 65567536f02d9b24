// Reads a command line into a flat list of what it starts and writes. The list is flat because rules do not care where a command stands.
import { checkArithmetic } from './check-arithmetic.ts';
import { type CheckedTree, checkTree } from './check-tree.ts';
import { denyCommand, writeSimpler } from './deny-command.ts';
import { type Node, parseBash } from './parser.ts';
import { isShell } from './programs/launchers.ts';
import { joinTouching, readCheckedWord, readCommand, readRedirectedStatement, readRedirection, type ShellScript } from './read-command.ts';
import { readTest } from './read-test.ts';
import { readWord } from './read-word.ts';

const maxCommands = 50;
const maxWords = 2_000;
const plainVariable = /^(?!histchars$|auto_resume$)[a-z][a-z0-9_]*$/;

export function readScript(source: string): ShellScript {
  const tree = checkTree(source, parseBash(source));
  const script: ShellScript = { commands: [], redirections: [], hazards: [], code: [] };
  const parents = new Map(tree.nodes.flatMap((node) => node.children.map((child) => [child, node] as const)));
  for (const node of tree.nodes) readNode(tree, node, { script, parents });
  const count = script.commands.length + script.hazards.length + script.redirections.length;
  if (count > maxCommands) denyCommand(`has more than ${maxCommands} parts`, writeSimpler);
  if (script.commands.reduce((sum, { words }) => sum + words.length, 0) > maxWords)
    denyCommand(`has more than ${maxWords} words`, writeSimpler);
  return script;
}

interface ReadState {
  script: ShellScript;
  parents: Map<Node, Node>;
}

function readNode(tree: CheckedTree, node: Node, { script, parents }: ReadState): void {
  const text = tree.source.slice(node.start, node.end).replace(/\s+/g, ' ');
  const hazard = (why: string, shown = text) => script.hazards.push({ text: shown, why });
  switch (node.type) {
    case 'command':
    case 'declaration_command':
    case 'unset_command':
      readCommand(tree, node, [], script);
      return;
    case 'redirected_statement':
      readRedirectedStatement(tree, node, script);
      return;
    case 'file_redirect':
      script.redirections.push(readRedirection(tree, node));
      return;
    case 'test_command':
      readTest(tree, node, script);
      return;
    case 'herestring_redirect':
      for (const [start, end] of joinTouching(node.children.filter(({ named, type }) => named && type !== 'file_descriptor')))
        script.code.push(...hereTextForShell(tree, node, { text: readCheckedWord(tree, start, end).text, parents }));
      return;
    case 'heredoc_body':
      script.code.push(...hereTextForShell(tree, node, { text: tree.source.slice(node.start, node.end), parents }));
      return;
    case 'variable_assignment':
    case 'variable_assignments':
      for (const { start, end } of node.children.filter(({ field, type }) => field === 'value' && type !== 'array')) {
        if (start < end) readWord(tree, start, end);
      }
      if (!['command', 'declaration_command', 'variable_assignments'].includes(parents.get(node)?.type ?? '')) hazard('it sets a variable');
      return;
    case 'function_definition':
      for (const { start, end } of node.children.filter(({ field }) => field === 'name')) {
        hazard('a function can replace any command', `${tree.source.slice(start, end)}()`);
      }
      return;
    case 'for_statement': {
      const name = node.children.find(({ field }) => field === 'variable');
      const variable = name ? tree.source.slice(name.start, name.end) : '';
      if (!plainVariable.test(variable)) hazard('it sets a variable', `for ${variable}`);
      for (const [start, end] of joinTouching(node.children.filter(({ field }) => field === 'value'))) {
        const { text: value, literal } = readWord(tree, start, end);
        // Unquoted, the variable takes whatever names the pattern matches.
        if (/[*?[]/.test(value) && (literal || /^[/~]|\.\.|\$/.test(value)))
          hazard('which files the pattern matches is unknown', `for ${variable}`);
      }
      return;
    }
    case 'case_statement':
    case 'case_item':
      for (const [start, end] of joinTouching(node.children.filter(({ field }) => field === 'value'))) readWord(tree, start, end);
      return;
    case 'array':
      for (const [start, end] of joinTouching(node.children.filter(({ named, type }) => named && type !== 'comment')))
        readWord(tree, start, end);
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
      if (/^\$\{!|@[A-Za-z]?\}$|\[(?![\d@*]+\])|^\$\{#?[\w@*]+(?::?=|:(?![-+?]))/.test(text))
        hazard('it sets variables or evaluates the value of one');
      return;
    case 'subscript':
      hazard('the index of an array can start commands');
  }
}

/** A here-document or here-string for a command that names a shell is a script. */
function hereTextForShell(tree: CheckedTree, node: Node, { text, parents }: { text: string; parents: Map<Node, Node> }): string[] {
  let owner = parents.get(node);
  while (owner && owner.type !== 'redirected_statement' && owner.type !== 'command') owner = parents.get(owner);
  if (owner === undefined) return [];
  const end = Math.min(node.start, owner.end);
  return tree.source
    .slice(owner.start, end)
    .split(/[\s;&|()'"\\]+/)
    .some(isShell)
    ? [text]
    : [];
}
