// An explanation for people: what an agent gets, and by whose word.

import type { Explanation, ToolVerdict } from '../config/explanation.ts';
import { clean, cleanLine } from './clean.ts';
import { paint, type Style } from './format.ts';
import type { Io } from './io.ts';
import { pad, width } from './width.ts';

const actionStyle: Record<ToolVerdict['action'], Style> = { allow: 'green', ask: 'yellow', deny: 'red' };

export function explanationText(agent: Explanation, io: Io): string {
  const colour = io.colour.out;
  const bold = (text: string) => paint(colour, 'bold', text);
  const dim = (text: string) => paint(colour, 'dim', text);
  const part = (title: string, lines: string[]) => (lines.length === 0 ? [] : ['', bold(title), ...lines.map((line) => `  ${line}`)]);
  const models = [agent.model.value ?? []].flat().join(', ');
  const owner = agent.rulesets.filter((set) => set.kind === 'owner');
  const others = agent.rulesets.filter((set) => set.kind === 'narrowing');
  return `${[
    `${bold(cleanLine(agent.name))}  ${cleanLine(agent.description)}`,
    ...aligned([
      ['defined in', cleanLine(agent.source)],
      ['model', models === '' ? 'none is configured' : `${cleanLine(models)}  ${dim(cleanLine(agent.model.from))}`],
      ['AGENTS.md', agent.workspaceRules ? 'part of its prompt where the workspace has one' : 'not part of its prompt'],
    ]),
    ...part('Tools, as a root run gets them', aligned(agent.tools.offered.map((verdict) => toolRow(verdict, colour)))),
    ...part('Left out', aligned(agent.tools.leftOut.map((verdict) => toolRow(verdict, colour)))),
    ...part('Limits', aligned(Object.entries(agent.limits).map(([name, { value, from }]) => [name, String(value), dim(cleanLine(from))]))),
    ...part(
      'Rules of the owner: one list, the last match counts',
      aligned(owner.flatMap((set) => set.rules.map(({ rule, from }) => [cleanLine(rule), dim(cleanLine(from))]))),
    ),
    ...others.flatMap((set) =>
      part(
        `Can only narrow that: ${cleanLine(set.owner)}`,
        set.rules.map(({ rule }) => cleanLine(rule)),
      ),
    ),
    ...part('Warnings', agent.warnings.map(cleanLine)),
    ...part('Prompt', clean(agent.prompt).split('\n')),
  ].join('\n')}\n`;
}

function toolRow({ tool, action, rule, owner }: ToolVerdict, colour: boolean): string[] {
  const why = rule === null ? cleanLine(owner) : `${cleanLine(rule)} (${cleanLine(owner)})`;
  return [cleanLine(tool), paint(colour, actionStyle[action], action), paint(colour, 'dim', why)];
}

/** Columns of equal width. In all but the last one colours may stand only on every cell, so that they add the same everywhere. */
function aligned(rows: string[][]): string[] {
  const widths = rows.reduce<number[]>((most, row) => row.map((cell, i) => Math.max(most[i] ?? 0, width(cell))), []);
  return rows.map((row) =>
    row
      .map((cell, i) => (i === row.length - 1 ? cell : pad(cell, widths[i] as number)))
      .join('  ')
      .trimEnd(),
  );
}
