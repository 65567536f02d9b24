// From the tree of a command line to what it would start: a flat list, because it does not matter to a rule where a command stands.
import { checkArithmetic } from './check-arithmetic.ts';
import { checkTree, type Tree } from './check-tree.ts';
import { refuse } from './deny-command.ts';
import { type Node, parse } from './parser.ts';
import { isShell } from './programs/launchers.ts';
import { checkedWord, readCommand, readRedirected, readRedirection, runs, type Script } from './read-command.ts';
import { readTest } from './read-test.ts';
import { readWord } from './read-word.ts';

const maxCommands = 50;
const maxWords = 2_000;
const plainVariable = /^(?!histchars$|auto_resume$)[a-z][a-z0-9_]*$/;
const simpler = 'write it as several simpler commands';

export function readScript(source: string): Script {
  const tree = checkTree(source, parse(source));
  const script: Script = { commands: [], redirections: [], hazards: [], code: [] };
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
    case 'declaration_command':
    case 'unset_command':
      readCommand(tree, node, [], script);
      return;
    case 'redirected_statement':
      readRedirected(tree, node, script);
      return;
    case 'file_redirect':
      script.redirections.push(readRedirection(tree, node));
      return;
    case 'test_command':
      readTest(tree, node, script);
      return;
    case 'herestring_redirect':
      for (const [start, end] of runs(node.children.filter(({ named, type }) => named && type !== 'file_descriptor')))
        script.code.push(...readByShell(tree, node, { text: checkedWord(tree, start, end).text, parents }));
      return;
    case 'heredoc_body':
      script.code.push(...readByShell(tree, node, { text: tree.source.slice(node.start, node.end), parents }));
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
        hazard('a function can stand in the place of any command', `${tree.source.slice(start, end)}()`);
      }
      return;
    case 'for_statement': {
      const name = node.children.find(({ field }) => field === 'variable');
      const variable = name ? tree.source.slice(name.start, name.end) : '';
      if (!plainVariable.test(variable)) hazard('it sets a variable', `for ${variable}`);
      for (const [start, end] of runs(node.children.filter(({ field }) => field === 'value'))) {
        const { text: value, literal } = readWord(tree, start, end);
        // Without quotes the variable becomes whatever such a pattern finds.
        if (/[*?[]/.test(value) && (literal || /^[/~]|\.\.|\$/.test(value)))
          hazard('nobody knows what the pattern finds', `for ${variable}`);
      }
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
      if (/^\$\{!|@[A-Za-z]?\}$|\[(?![\d@*]+\])|^\$\{#?[\w@*]+(?::?=|:(?![-+?]))/.test(text))
        hazard('it sets variables or evaluates what is in one');
      return;
    case 'subscript':
      hazard('the index of an array can start commands');
  }
}

/** A here-text that goes to a command with the name of a shell in its words is a script. */
function readByShell(tree: Tree, node: Node, { text, parents }: { text: string; parents: Map<Node, Node> }): string[] {
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
