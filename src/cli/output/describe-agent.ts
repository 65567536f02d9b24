// The text of `retinue agents explain`: what an agent gets, and where each setting comes from.

import type { Explanation, ToolVerdict } from '../../config/explanation.ts';
import { formatEffort } from '../../text/effort.ts';
import { sanitizeLine, sanitizeText } from '../../text/terminal.ts';
import { paint, type Style } from '../../views/style.ts';
import { padToWidth, textWidth } from '../../views/width.ts';
import type { Io } from '../io.ts';
import { enforcerNames } from './external-programs.ts';

const actionStyle: Record<ToolVerdict['action'], Style> = { allow: 'green', ask: 'yellow', deny: 'red' };

export function describeAgent(agent: Explanation, io: Io): string {
  const colour = io.colour.out;
  const bold = (text: string) => paint(colour, 'bold', text);
  const dim = (text: string) => paint(colour, 'dim', text);
  const section = (title: string, lines: string[]) => (lines.length === 0 ? [] : ['', bold(title), ...lines.map((line) => `  ${line}`)]);
  const models = [agent.model.value ?? []].flat().join(', then ');
  const owner = agent.rulesets.filter((set) => set.kind === 'owner');
  const others = agent.rulesets.filter((set) => set.kind === 'narrowing');
  return `${[
    `${bold(sanitizeLine(agent.name))}  ${sanitizeLine(agent.description)}`,
    ...alignColumns([
      [
        'defined in',
        sanitizeLine(agent.program === null || agent.program === 'Retinue' ? agent.source : `${agent.source} (${agent.program})`),
      ],
      ['model', models === '' ? 'not configured' : `${sanitizeLine(models)}  ${dim(sanitizeLine(agent.model.from))}`],
      [
        'effort',
        agent.effort ? `${formatEffort(agent.effort.value)}  ${dim(sanitizeLine(agent.effort.from))}` : 'as the model does by default',
      ],
      ['files', agent.isolation === null ? 'those of the workspace' : 'its own copy of the workspace (isolation: worktree)'],
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
    ...section(`Carried out by ${sanitizeLine(agent.external?.program ?? '')}`, agent.external ? describeExternal(agent.external) : []),
    ...section('Parameters (--param NAME=VALUE)', alignColumns(agent.parameters.map(parameterRow))),
    ...section('Acceptance checks', agent.checks.map(sanitizeLine)),
    ...section('Form of the result', agent.resultSchema === null ? [] : [sanitizeLine(JSON.stringify(agent.resultSchema))]),
    ...section('Skills it may load', alignColumns(agent.skills.map(({ name, source }) => [sanitizeLine(name), dim(sanitizeLine(source))]))),
    ...section('Left out', alignColumns(agent.leftOut.map(({ what, why }) => [sanitizeLine(what), dim(sanitizeLine(why))]))),
    ...section(
      'Other definitions of this name',
      alignColumns(agent.hides.map(({ source, by }) => [sanitizeLine(source), dim(`hidden by ${sanitizeLine(by)}`)])),
    ),
    ...section('Warnings', agent.warnings.map(sanitizeLine)),
    ...section('Prompt', sanitizeText(agent.prompt).split('\n')),
  ].join('\n')}\n`;
}

function parameterRow({ name, type = 'string', description = '', default: value, options }: Explanation['parameters'][number]): string[] {
  const given = value === undefined ? 'required' : `default ${sanitizeLine(value)}`;
  return [name, options ? sanitizeLine(options.join('|')) : type, given, sanitizeLine(description)];
}

function describeExternal({ version, problem, login, promises }: NonNullable<Explanation['external']>): string[] {
  const rows = promises.map(({ promise, by, how }) => [promise, enforcerNames[by], how]);
  const state = problem === null ? [['version', version ?? '']] : [['cannot be started', sanitizeLine(problem)]];
  const model = login === 'gate' ? 'through the model gate, with your API key outside' : 'with its own login';
  return [...alignColumns([...state, ['model', model]]), ...alignColumns([['promise', 'kept by', ''], ...rows])];
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
