// Runs as a table, for `ps` and `show`.
import type { RunView } from '../../api/api.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { formatCost, formatCount, formatDuration, formatStatus, shortId, totalTokens } from '../../views/format.ts';
import { formatTable, statusStyle } from '../../views/style.ts';
import type { Io } from '../io.ts';

export function formatRuns(runs: RunView[], io: Io): string {
  const hasWorkers = runs.some(({ worker }) => worker !== null);
  const rows = runs.map((run) => [
    shortId(run.runId),
    formatStatus(run.status),
    sanitizeLine(run.agent ?? run.kind),
    run.turns === 0 ? '' : String(run.turns),
    totalTokens(run.tokens) === 0 ? '' : formatCount(totalTokens(run.tokens)),
    formatCost(run.costUsd),
    run.startedAt === null ? '' : `${formatDuration(Math.max(0, io.now() - Date.parse(run.startedAt)))} ago`,
    run.startedAt === null
      ? ''
      : formatDuration(Math.max(0, (run.endedAt === null ? io.now() : Date.parse(run.endedAt)) - Date.parse(run.startedAt))),
    run.parentId === null ? '' : shortId(run.parentId),
    ...(hasWorkers ? [sanitizeLine(run.worker ?? '')] : []),
    sanitizeLine(run.task === null ? `${run.label ?? ''} (erased)`.trim() : (run.label ?? run.task)),
  ]);
  const columns = [
    { title: 'RUN' },
    { title: 'STATUS' },
    { title: 'AGENT' },
    { title: 'TURNS', side: 'right' as const },
    { title: 'TOKENS', side: 'right' as const },
    { title: 'COST', side: 'right' as const },
    { title: 'STARTED', side: 'right' as const },
    { title: 'DURATION', side: 'right' as const },
    { title: 'PARENT' },
    ...(hasWorkers ? [{ title: 'WORKER' }] : []),
    { title: 'LABEL OR TASK', flexible: true },
  ];
  const style = (row: number, column: number) => (column === 1 ? statusStyle[(runs[row] as RunView).status] : null);
  return `${formatTable(columns, rows, { columns: io.outTTY ? io.columns() : 1000, colour: io.colour.out, style }).join('\n')}\n`;
}
