import type { Api } from '../../api/api.ts';
import { RetinueError } from '../../contract/error.ts';
import { unknownNameMessage } from '../../text/suggest.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { type CostGroup, type CostGrouping, costGroupings, groupCosts, sortByCost, sumCosts } from '../../views/costs.ts';
import { formatCost, formatCount, shortId } from '../../views/format.ts';
import { formatTable } from '../../views/style.ts';
import { textWidth } from '../../views/width.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag, serverFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { withApi } from '../session/open-api.ts';

export const costsCommand: Command = {
  name: 'costs',
  group: 'watch',
  usage: '[--by agent|model|day|tree] [flags]',
  summary: 'show what the runs of this database used and cost',
  about:
    'Days are those on which runs started (UTC). A run counts once, under the model it started with; what it spent on other models is listed under theirs. An unknown price is empty, never zero.',
  flags: [{ name: 'by', value: 'GROUP', help: 'agent, model, day (default) or tree' }, jsonFlag, ...commonFlags, ...serverFlags],
  positionals: { min: 0, max: 0 },
  examples: [
    ['retinue costs', 'a bar for each day'],
    ['retinue costs --by tree', 'the most expensive work first'],
    ['retinue costs --by model --json | jq .total.costUsd', 'everything together'],
  ],
  exitCodes: 'command',
  changes: false,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const by = parseGrouping(args.value('by') ?? 'day');
  const groups = await withApi(io, { flags: commonSettings(args), drive: false }, (api) => loadGroups(api, by));
  const total = { ...sumCosts(groups), name: 'total' };
  if (args.has('json')) printJson(io, { by, groups, total });
  else if (groups.length === 0) io.err('no runs yet; start one with `retinue run "TASK"`\n');
  else io.out(formatCosts(groups, total, by, io));
  return 0;
}

function parseGrouping(given: string): CostGrouping {
  const found = costGroupings.find((each) => each === given);
  if (found === undefined) throw new RetinueError('usage', `--by: ${unknownNameMessage('group', given, [...costGroupings])}`);
  return found;
}

/** A root has the sums of its whole tree. */
async function loadGroups(api: Api, by: CostGrouping): Promise<CostGroup[]> {
  if (by !== 'tree') return groupCosts(await api.costs(), by);
  const roots = await api.ps({ all: true, roots: true });
  return sortByCost(
    roots.map(({ runId, label, task, tokens, costUsd }) =>
      sumCosts([{ name: `${shortId(runId)} ${label ?? task ?? ''}`.trim(), runs: 1, tokens, costUsd }]),
    ),
  );
}

const maxBarWidth = 24;
/** Shorter bars say nothing, and names need room too. */
const minBarWidth = 6;
const minNameWidth = 18;

/** The bars only on a terminal: by cost, or by tokens if no price is known. */
function formatCosts(groups: CostGroup[], total: CostGroup, by: CostGrouping, io: Io): string {
  const sizeOf = ({ costUsd, tokens }: CostGroup) => (total.costUsd ? (costUsd ?? 0) : tokens.input + tokens.output);
  const most = Math.max(...groups.map(sizeOf), Number.MIN_VALUE);
  const rows = [...groups, total].map((group) => [
    sanitizeLine(group.name),
    by === 'tree' ? '' : String(group.runs),
    formatCount(group.tokens.input),
    formatCount(group.tokens.output),
    `${Math.round(group.cachedShare * 100)} %`,
    formatCost(group.costUsd),
  ]);
  const barWidth = io.outTTY ? findBarWidth(rows, io.columns()) : 0;
  for (const [index, row] of rows.entries())
    row.push(index < groups.length ? '█'.repeat(Math.ceil((sizeOf(groups[index] as CostGroup) / most) * barWidth)) : '');
  const right = { side: 'right' as const };
  const columns = [
    { title: by.toUpperCase(), flexible: true },
    { title: 'RUNS', ...right },
    { title: 'INPUT', ...right },
    { title: 'OUTPUT', ...right },
    { title: 'CACHED', ...right },
    { title: 'COST', ...right },
    { title: '' },
  ];
  const style = (row: number, column: number) => (row === groups.length ? ('bold' as const) : column === 6 ? ('green' as const) : null);
  return `${formatTable(columns, rows, { columns: io.outTTY ? io.columns() : 1000, colour: io.colour.out, style }).join('\n')}\n`;
}

/** What the other columns leave; 0 if that is too little. */
function findBarWidth(rows: string[][], columns: number): number {
  const widths = rows.reduce<number[]>((most, row) => row.map((cell, i) => Math.max(most[i] ?? 0, textWidth(cell))), [0, 4, 5, 6, 6, 4]);
  const [name = 0, ...others] = widths;
  const taken = others.reduce((sum, width) => sum + width + 2, Math.min(name, minNameWidth) + 2);
  const left = Math.min(maxBarWidth, columns - taken);
  return left < minBarWidth ? 0 : left;
}
