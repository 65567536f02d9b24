// The first line of the tree page: how many runs there are, what they do and cost, and what waits for the user.
import type { LiveRun, Question } from '../../contract/view.ts';
import { isFlowQuestion } from '../../views/describe-question.ts';
import { formatCost, formatCount, formatPlural, type ShownStatus } from '../../views/format.ts';
import { approvalGlyph } from '../../views/run-row.ts';
import { shownStatus, type TreeRow } from '../../views/tree-rows.ts';
import type { View } from './deps.ts';
import { type Part, spread } from './line.ts';
import type { TreeSource } from './tree-source.ts';
import { rootOf } from './tree-source.ts';

export interface SummaryInput {
  source: TreeSource;
  rows: TreeRow[];
  filter: string;
  title: string;
}

/** The most important ones first: the last ones are dropped where there is no room. */
const counted: ShownStatus[] = ['running', 'interrupted', 'failed', 'waiting', 'queued', 'paused'];

export function summaryLine({ source, rows, filter, title }: SummaryInput, view: View): string {
  const { state, earlier, undriven } = source;
  const trees = state.roots.filter((id) => !earlier.has(id));
  const runs = [...state.runs.values()].filter(({ id }) => !earlier.has(rootOf(state, id) ?? id));
  const counts = new Map<ShownStatus, number>();
  for (const run of runs) {
    const status = shownStatus(run, state, undriven.has(rootOf(state, run.id) ?? ''));
    if (run.questions === 0 || status !== 'waiting') counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  const states = counted.flatMap((status) => (counts.has(status) ? [`${counts.get(status)} ${status}`] : []));
  const roots = trees.map((id) => state.runs.get(id) as LiveRun);
  const tokens = roots.reduce((sum, run) => sum + run.tokens, 0);
  const costs = roots.flatMap(({ costUsd }) => (costUsd === null ? [] : [costUsd]));
  const inTrees = trees.length > 1 ? ` in ${trees.length} trees` : '';
  const groups: Part[][] = [
    [[`retinue ${title}`, 'bold']],
    [[`  ${formatPlural(runs.length, 'run')}${inTrees}`]],
    ...states.map((text, i): Part[] => [[`${i === 0 ? ':' : ','} ${text}`]]),
    [[costs.length === 0 ? '' : `  ${formatCost(costs.reduce((sum, cost) => sum + cost, 0))}`]],
    [[tokens === 0 ? '' : `  ${formatCount(tokens)} tokens`, 'dim']],
  ];
  return spread(groups, [...filterParts(filter, rows), ...approvalParts(source.questions, view)], view);
}

function filterParts(filter: string, rows: TreeRow[]): Part[] {
  if (filter === '') return [];
  const matches = rows.filter(({ isMatch }) => isMatch).length;
  return [[`  /${filter.slice(0, 20)}: ${matches === 1 ? '1 match' : `${matches} matches`}`, 'cyan']];
}

function approvalParts(questions: Question[], { columns }: View): Part[] {
  const count = questions.length;
  if (count === 0) return [];
  const flows = questions.filter(isFlowQuestion).length;
  const verb = count === 1 ? 'needs' : 'need';
  const long = flows === 0 ? `${formatPlural(count, 'call')} ${verb} approval` : `${formatPlural(count, 'question')} ${verb} an answer`;
  const text = columns < 72 ? `${count} to ${flows === 0 ? 'approve' : 'answer'}` : long;
  return [[`  ${approvalGlyph} ${text}: a`, 'yellow']];
}
