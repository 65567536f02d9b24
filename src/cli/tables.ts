import type { RunView } from '../api/api.ts';
import { cleanLine } from './clean.ts';
import { cost, count, duration, shortId, statusStyle, statusWords, table, totalTokens } from './format.ts';
import type { Io } from './io.ts';

/** Runs as an aligned table, in the order given. */
export function runTable(runs: RunView[], io: Io): string {
  const rows = runs.map((run) => [
    shortId(run.runId),
    statusWords(run.status),
    cleanLine(run.agent ?? run.kind),
    run.turns === 0 ? '' : String(run.turns),
    totalTokens(run.tokens) === 0 ? '' : count(totalTokens(run.tokens)),
    cost(run.costUsd),
    run.startedAt === null ? '' : `${duration(Math.max(0, io.now() - Date.parse(run.startedAt)))} ago`,
    run.startedAt === null
      ? ''
      : duration(Math.max(0, (run.endedAt === null ? io.now() : Date.parse(run.endedAt)) - Date.parse(run.startedAt))),
    run.parentId === null ? '' : shortId(run.parentId),
    cleanLine(run.label ?? ''),
  ]);
  const columns = [
    { title: 'RUN' },
    { title: 'STATUS' },
    { title: 'AGENT' },
    { title: 'TURNS', side: 'right' as const },
    { title: 'TOKENS', side: 'right' as const },
    { title: 'COST', side: 'right' as const },
    { title: 'STARTED', side: 'right' as const },
    { title: 'TIME', side: 'right' as const },
    { title: 'PARENT' },
    { title: 'LABEL', flexible: true },
  ];
  const style = (row: number, column: number) => (column === 1 ? statusStyle[(runs[row] as RunView).status] : null);
  return `${table(columns, rows, { columns: io.outTTY ? io.columns() : 1000, colour: io.colour.out, style }).join('\n')}\n`;
}
