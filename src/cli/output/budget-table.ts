// Shared budgets as text: a line with a bar for each limit.
import type { BudgetState } from '../../contract/budget.ts';
import { formatCost, formatCount, formatInstant } from '../../views/format.ts';
import { paint } from '../../views/style.ts';
import type { Io } from '../io.ts';

const barWidth = 20;
const periods = { day: 'a day', month: 'a month', total: 'in total' };

export function formatBudgets(budgets: BudgetState[], io: Io): string {
  return budgets.map((budget) => formatBudget(budget, io)).join('');
}

function formatBudget(budget: BudgetState, io: Io): string {
  const { name, per, timezone, whenExceeded, resetsAt, tokens, costUsd, spent, reserved } = budget;
  const zone = per === 'total' || timezone === 'UTC' ? '' : ` (${timezone})`;
  const action = whenExceeded === 'pause' ? 'pauses trees' : 'refuses trees';
  const reset = resetsAt === null ? '' : ` · resets ${formatInstant(resetsAt, io.now())}`;
  const head = `${paint(io.colour.out, 'bold', name)}  ${paint(io.colour.out, 'dim', `${periods[per]}${zone} · ${action} when used up${reset}`)}`;
  const usd = (value: number) => formatCost(value);
  const lines = [
    ...(costUsd === null ? [] : [formatUse({ used: spent.costUsd, held: reserved.costUsd, limit: costUsd, format: usd }, io)]),
    ...(tokens === null
      ? []
      : [formatUse({ used: spent.tokens, held: reserved.tokens, limit: tokens, format: (value) => `${formatCount(value)} tokens` }, io)]),
  ];
  return `${[head, ...lines].join('\n')}\n`;
}

interface ShownUse {
  used: number;
  held: number;
  limit: number;
  format(value: number): string;
}

/** The bar only on a terminal. */
function formatUse({ used, held, limit, format }: ShownUse, io: Io): string {
  const share = used / limit;
  const percent = `${used > 0 && share < 0.01 ? '<1' : Math.floor(share * 100)} %`;
  const filled = Math.min(barWidth, Math.floor(share * barWidth));
  const style = share >= 1 ? 'red' : share >= 0.8 ? 'yellow' : 'green';
  const bar = io.outTTY ? `${paint(io.colour.out, style, '█'.repeat(filled))}${'░'.repeat(barWidth - filled)} ` : '';
  const reserved = held > 0 ? `, ${format(held)} reserved` : '';
  return `  ${bar}${percent.padStart(5)}  ${format(used)} of ${format(limit)}${reserved}`;
}
