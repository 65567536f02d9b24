// The text of `retinue agents explain`: what an agent gets, and where each setting comes from.

import type { Explanation, ToolVerdict } from '../../config/explanation.ts';
import { sanitizeLine, sanitizeText } from '../../text/terminal.ts';
import { paint, type Style } from '../../views/style.ts';
import { padToWidth, textWidth } from '../../views/width.ts';
import type { Io } from '../io.ts';

const actionStyle: Record<ToolVerdict['action'], Style> = { allow: 'green', ask: 'yellow', deny: 'red' };

export function describeAgent(agent: Explanation, io: Io): string {
  const colour = io.colour.out;
  const bold = (text: string) => paint(colour, 'bold', text);
  const dim = (text: string) => paint(colour, 'dim', text);
  const section = (title: string, lines: string[]) => (lines.length === 0 ? [] : ['', bold(title), ...lines.map((line) => `  ${line}`)]);
  const models = [agent.model.value ?? []].flat().join(', ');
  const owner = agent.rulesets.filter((set) => set.kind === 'owner');
  const others = agent.rulesets.filter((set) => set.kind === 'narrowing');
  return `${[
    `${bold(sanitizeLine(agent.name))}  ${sanitizeLine(agent.description)}`,
    ...alignColumns([
      ['defined in', sanitizeLine(agent.source)],
      ['model', models === '' ? 'not configured' : `${sanitizeLine(models)}  ${dim(sanitizeLine(agent.model.from))}`],
      ['AGENTS.md', agent.workspaceRules ? 'included in its prompt if the workspace has one' : 'not included in its prompt'],
    ]),
    ...section('Tools of a root run', alignColumns(agent.tools.offered.map((verdict) => toolRow(verdict, colour)))),
    ...section('Not available', alignColumns(agent.tools.leftOut.map((verdict) => toolRow(verdict, colour)))),
    ...section(
      'Limits',
      alignColumns(Object.entries(agent.limits).map(([name, { value, from }]) => [name, String(value), dim(sanitizeLine(from))])),
    ),
    ...section(
      'Rules: the last match decides',
      alignColumns(owner.flatMap((set) => set.rules.map(({ rule, from }) => [sanitizeLine(rule), dim(sanitizeLine(from))]))),
    ),
    ...others.flatMap((set) =>
      section(
        `${set.scope === 'children' ? 'Restrict only its children' : 'Can only restrict them further'}: ${sanitizeLine(set.owner)}`,
        set.rules.map(({ rule }) => sanitizeLine(rule)),
      ),
    ),
    ...section('Warnings', agent.warnings.map(sanitizeLine)),
    ...section('Prompt', sanitizeText(agent.prompt).split('\n')),
  ].join('\n')}\n`;
}

function toolRow({ tool, action, rule, owner }: ToolVerdict, colour: boolean): string[] {
  const reason = rule === null ? sanitizeLine(owner) : `${sanitizeLine(rule)} (${sanitizeLine(owner)})`;
  return [sanitizeLine(tool), paint(colour, actionStyle[action], action), paint(colour, 'dim', reason)];
}

/** Pads columns to equal width. Except in the last column, either all cells of a column are coloured or none: escape codes count as width. */
function alignColumns(rows: string[][]): string[] {
  const widths = rows.reduce<number[]>((most, row) => row.map((cell, i) => Math.max(most[i] ?? 0, textWidth(cell))), []);
  return rows.map((row) =>
    row
      .map((cell, i) => (i === row.length - 1 ? cell : padToWidth(cell, widths[i] as number)))
      .join('  ')
      .trimEnd(),
  );
}
