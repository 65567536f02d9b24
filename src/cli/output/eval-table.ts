// An eval on a terminal: a row for each case, agent and model, the totals, and what has changed.
import type { CaseRow, EvalSummary, Rate } from '../../evals/compare.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { formatCost, formatDuration, formatPlural, shortId } from '../../views/format.ts';
import { formatTable, paint, type Style } from '../../views/style.ts';
import type { Io } from '../io.ts';
import { describeChange, describeRates, formatRate } from './eval-change.ts';

const right = { side: 'right' as const };

/** `earlier`: how the eval that this one is compared with is named; null without one. */
export function formatEval(summary: EvalSummary, earlier: string | null, io: Io): string {
  const { cases, variants } = summary;
  const isSeveral = (key: 'agent' | 'model') => new Set(variants.map((each) => each[key])).size > 1;
  const [hasAgents, hasModels] = [isSeveral('agent'), isSeveral('model')];
  const toRow = (name: string, { agent, model }: { agent: string | null; model: string | null }, rate: Rate, change: string) => [
    sanitizeLine(name),
    hasAgents ? sanitizeLine(agent ?? 'default') : '',
    hasModels ? sanitizeLine(model ?? 'default') : '',
    formatRate(rate),
    rate.errors === 0 ? '' : String(rate.errors),
    rate.skipped === 0 ? '' : String(rate.skipped),
    formatCost(rate.costUsd),
    formatDuration(rate.durationMs),
    change,
  ];
  const rows = [
    ...cases.map((each) => toRow(each.case, each, each.rate, describeChange(each))),
    ...variants.map((each) => toRow('total', each, each.rate, describeRates(each.compared, each.before))),
  ];
  const columns = [
    ...[
      { title: 'CASE', flexible: true },
      { title: 'AGENT' },
      { title: 'MODEL' },
      { title: 'PASSED', ...right },
      { title: 'ERRORS', ...right },
    ],
    ...[{ title: 'SKIPPED', ...right }, { title: 'COST', ...right }, { title: 'TIME', ...right }, { title: 'CHANGE' }],
  ];
  const style = (row: number, column: number): Style | null => {
    const each = cases[row];
    if (!each) return 'bold';
    if (column === 3) return rateStyle(each.rate);
    return column === 8 ? changeStyle[each.change] : null;
  };
  const table = formatTable(columns, rows, { columns: io.outTTY ? io.columns() : 1000, colour: io.colour.out, style });
  return `${[...table, ...describeDetails(summary, earlier, io.colour.out)].join('\n')}\n`;
}

const changeStyle: Record<CaseRow['change'], Style | null> = { better: 'green', worse: 'red', same: null, new: 'dim' };

function rateStyle({ passed, judged }: Rate): Style | null {
  if (judged === 0) return 'dim';
  return passed === judged ? 'green' : passed === 0 ? 'red' : 'yellow';
}

const maxReasons = 3;
const maxReasonChars = 200;

/** Reasons of what did not pass, then the cases that changed. */
function describeDetails({ cases, gone, variants }: EvalSummary, earlier: string | null, colour: boolean): string[] {
  const lines: string[] = [];
  const open = cases.filter(({ reasons }) => reasons.length > 0);
  if (open.length > 0) lines.push('');
  for (const each of open) {
    lines.push(paint(colour, 'bold', describeCase(each, variants.length > 1)));
    for (const { reason, runId } of each.reasons.slice(0, maxReasons))
      lines.push(`  ${shorten(reason)}${runId === null ? '' : ` · retinue logs ${shortId(runId)}`}`);
    if (each.reasons.length > maxReasons) lines.push(`  and ${each.reasons.length - maxReasons} more`);
  }
  if (earlier === null) return lines;
  const count = (change: CaseRow['change']) => cases.filter((each) => each.change === change).length;
  const [better, worse] = [count('better'), count('worse')];
  const text = better + worse === 0 ? 'no case is better or worse' : `${formatPlural(better, 'case')} better, ${worse} worse`;
  lines.push('', `compared with ${earlier}: ${text}${gone.length === 0 ? '' : `; no longer there: ${gone.map(sanitizeLine).join(', ')}`}`);
  return lines;
}

function describeCase({ case: name, agent, model }: CaseRow, isSeveral: boolean): string {
  return sanitizeLine(isSeveral ? [name, agent, model].filter((part) => part !== null).join(' · ') : name);
}

function shorten(text: string): string {
  const line = sanitizeLine(text);
  return line.length <= maxReasonChars ? line : `${line.slice(0, maxReasonChars).toWellFormed()}…`;
}
