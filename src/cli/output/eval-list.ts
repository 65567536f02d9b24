// A list of evals, newest first.
import { rateOf } from '../../evals/compare.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { formatCost, formatInstant, shortId } from '../../views/format.ts';
import { formatTable } from '../../views/style.ts';
import type { Io } from '../io.ts';
import type { StoredEval } from '../session/evals.ts';
import { formatPercent } from './eval-change.ts';
import { printJson } from './print-json.ts';

export function printEvalList(evals: StoredEval[], isJson: boolean, io: Io): void {
  if (isJson) {
    const list = evals.map(({ runId, createdAt, input, outcome, results, done }) => ({
      runId,
      name: input.name,
      file: input.file,
      createdAt,
      status: outcome?.status ?? 'unfinished',
      replayOf: input.replay?.of ?? null,
      done,
      ...(results.length > 0 ? { total: rateOf(results) } : {}),
    }));
    printJson(io, list as never);
    return;
  }
  if (evals.length === 0) {
    io.err('no evals yet; `retinue eval FILE` runs one (see docs/evals.md)\n');
    return;
  }
  const rows = evals.map(({ runId, createdAt, input, outcome, results }) => {
    const rate = results.length === 0 ? null : rateOf(results);
    return [
      shortId(runId),
      sanitizeLine(input.name),
      formatInstant(createdAt, io.now()),
      `${outcome?.status ?? 'unfinished'}${input.replay ? ', replay' : ''}`,
      rate?.passRate === undefined || rate.passRate === null ? '' : `${rate.passed}/${rate.judged} ${formatPercent(rate.passRate)}`,
      rate === null ? '' : formatCost(rate.costUsd),
    ];
  });
  const columns = [
    ...[{ title: 'ID' }, { title: 'NAME', flexible: true }, { title: 'BEGAN' }, { title: 'STATE' }],
    ...[
      { title: 'PASSED', side: 'right' as const },
      { title: 'COST', side: 'right' as const },
    ],
  ];
  io.out(`${formatTable(columns, rows, { columns: io.outTTY ? io.columns() : 1000, colour: io.colour.out }).join('\n')}\n`);
}
