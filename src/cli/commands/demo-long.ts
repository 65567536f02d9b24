// `retinue demo long`: prints what one run of 500 turns through a small window used and what it still knew.
import { formatCost, formatCount, quoteForShell } from '../../views/format.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';

/** Exit code 0 if the run ended within its window and budget, knew the fact of its first turn, and its log is correct. */
export async function runLongDemo(io: Io, json: boolean): Promise<number> {
  io.err(
    'retinue: one run of 500 turns on a model with a window of 16k tokens; a rule-based model replaces the real one, everything else is real\n',
  );
  const found = await io.longDemo((text) => io.err(`retinue: ${text}`));
  const { tokens, faults } = found;
  const share = tokens.input === 0 ? 0 : Math.round((100 * tokens.cached) / tokens.input);
  if (json) printJson(io, found);
  else
    io.out(
      [
        `turns        ${found.turns}, ${found.status}`,
        `window       ${formatCount(found.largest)} of ${formatCount(found.window)} tokens in the largest request; ${found.compactions} compactions`,
        `tokens       ${formatCount(tokens.input)} in (${share} % cached), ${formatCount(tokens.output)} out`,
        `cost         ${formatCost(found.costUsd)} of ${formatCost(found.maxCostUsd)}`,
        `answer       ${found.answer}`,
        `event log    ${found.facts} events, verified and replayed, ${faults.length} errors`,
        ...faults.map((fault) => `  ${fault}`),
        '',
      ].join('\n'),
    );
  io.err(`\nSee the summaries: retinue logs last --db ${quoteForShell(found.db)}\n`);
  const isWithin = found.largest <= found.window && found.costUsd !== null && found.costUsd <= found.maxCostUsd;
  return found.status === 'completed' && isWithin && found.isRemembered && faults.length === 0 ? 0 : 1;
}
