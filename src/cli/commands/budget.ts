import type { Api } from '../../api/api.ts';
import { BudgetDefinition, type BudgetState, budgetActions, budgetPeriods } from '../../contract/budget.ts';
import { RetinueError } from '../../contract/error.ts';
import { unknownNameMessage } from '../../text/suggest.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { parseIntegerFlag, parseUsdFlag } from '../args/flag-values.ts';
import type { Args, Flag } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, jsonFlag, writingFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { formatBudgets } from '../output/budget-table.ts';
import { printJson } from '../output/print-json.ts';
import { withLocalApi } from '../session/open-api.ts';

const setFlags: Flag[] = [
  { name: 'usd', value: 'USD', help: 'set: the limit in US dollars; `none` removes it' },
  { name: 'tokens', value: 'N', help: 'set: the limit in tokens; `none` removes it' },
  { name: 'per', value: 'PERIOD', help: 'set: `day`, `month` or `total` (default: month)' },
  { name: 'timezone', value: 'ZONE', help: 'set: where days and months begin, such as `Europe/Berlin` (default: UTC)' },
  {
    name: 'when-exceeded',
    value: 'ACTION',
    help: 'set: `pause` trees until the next period (default), or `refuse` new ones and end running ones',
  },
];

export const budgetCommand: Command = {
  name: 'budget',
  aliases: ['budgets'],
  group: 'setup',
  usage: '[list] | set NAME [--usd USD] [--tokens N] [--per PERIOD] [flags] | rm NAME',
  summary: 'show and set budgets that many runs share, such as that of a team for a month',
  about:
    'Runs draw from a budget that they name (`retinue run --budget NAME`), and from those in `budgets` of the configuration. A budget belongs to one database and applies to all processes that use it. `set` changes only what is given.',
  flags: [...setFlags, jsonFlag, ...writingFlags],
  positionals: { min: 0, max: 2 },
  examples: [
    ['retinue budget set team --usd 50 --per day', 'at most $50 a day'],
    ['retinue run --budget team "fix the failing test"', 'a run that draws from it'],
    ['retinue budget', 'what is used of each budget'],
  ],
  exitCodes: 'command',
  changes: ({ positionals: [verb] }) => verb === 'set' || verb === 'rm',
  run,
};

const usage = 'usage: retinue budget [list] | set NAME --usd USD | rm NAME';

async function run(args: Args, io: Io): Promise<number> {
  const [verb = 'list', name] = args.positionals;
  const misplaced = verb === 'set' ? undefined : setFlags.find((flag) => args.has(flag.name));
  if (!['list', 'set', 'rm'].includes(verb))
    throw new RetinueError('usage', `${unknownNameMessage('argument', verb, ['list', 'set', 'rm'])}; ${usage}`);
  if (misplaced) throw new RetinueError('usage', `--${misplaced.name} is a flag of \`retinue budget set NAME\``);
  if ((verb === 'list') !== (name === undefined))
    throw new RetinueError('usage', `${name === undefined ? 'the name is missing' : '`list` takes no name'}; ${usage}`);
  const change = verb === 'set' ? parseChange(args) : {};
  const open = {
    flags: commonSettings(args),
    drive: false,
    ...(verb !== 'list' && { writes: true }),
    ...(verb === 'set' && { existingOnly: false }),
  };
  return withLocalApi(io, open, async (api) => {
    if (verb === 'set') return set(api, io, { ...change, name: name as string }, args.has('json'));
    if (verb === 'rm') return remove(api, io, name as string, args.has('json'));
    const budgets = await api.budgets();
    if (args.has('json')) printJson(io, budgets.map(budgetToJson));
    else if (budgets.length === 0) io.err('no budgets yet; `retinue budget set NAME --usd 50 --per day` adds one\n');
    else io.out(formatBudgets(budgets, io));
    return 0;
  });
}

async function set(api: Api, io: Io, change: Partial<BudgetDefinition> & { name: string }, json: boolean): Promise<number> {
  const known = (await api.budgets()).find(({ name }) => name === change.name);
  const before = known ?? { tokens: null, costUsd: null, per: 'month' as const, timezone: 'UTC', whenExceeded: 'pause' as const };
  const { tokens, costUsd, per, timezone, whenExceeded } = { ...before, ...change };
  if (tokens === null && costUsd === null) throw new RetinueError('usage', `a budget has a limit: give --usd, --tokens or both; ${usage}`);
  const parsed = BudgetDefinition.safeParse({ name: change.name, tokens, costUsd, per, timezone, whenExceeded });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new RetinueError(
      'usage',
      `${issue?.path[0] === 'name' ? 'the name of a budget' : `--${String(issue?.path[0])}`} ${issue?.message}`,
    );
  }
  await api.setBudget(parsed.data);
  const stored = (await api.budgets()).find(({ name }) => name === change.name) as BudgetState;
  if (json) printJson(io, budgetToJson(stored));
  else io.out(formatBudgets([stored], io));
  return 0;
}

async function remove(api: Api, io: Io, name: string, json: boolean): Promise<number> {
  const known = (await api.budgets()).map((budget) => budget.name);
  const removed = await api.removeBudget(name);
  if (json) printJson(io, { name, removed });
  else if (removed) io.out(`removed ${sanitizeLine(name)}\n`);
  if (!removed) io.err(`retinue: ${sanitizeLine(unknownNameMessage('budget', name, known))}\n`);
  return removed ? 0 : 1;
}

/** The fields that flags name. */
function parseChange(args: Args): Partial<BudgetDefinition> {
  const limit = (flag: string, parse: (text: string) => number) => {
    const text = args.value(flag);
    return text === undefined ? undefined : text === 'none' ? null : parse(text);
  };
  const costUsd = limit('usd', (text) => parseUsdFlag('--usd', text));
  const tokens = limit('tokens', (text) => parseIntegerFlag('--tokens', text, { min: 1, max: 1_000_000_000_000 }));
  const per = parseChoice(args, 'per', budgetPeriods);
  const whenExceeded = parseChoice(args, 'when-exceeded', budgetActions);
  const timezone = args.value('timezone');
  const given = { costUsd, tokens, per, whenExceeded, timezone };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function parseChoice<T extends string>(args: Args, flag: string, choices: readonly T[]): T | undefined {
  const given = args.value(flag);
  const found = choices.find((each) => each === given);
  if (given !== undefined && found === undefined)
    throw new RetinueError('usage', `--${flag}: ${unknownNameMessage('value', given, choices)}`);
  return found;
}

/** Fixes the order of keys. */
function budgetToJson({ name, tokens, costUsd, per, timezone, whenExceeded, spent, reserved, resetsAt }: BudgetState): BudgetState {
  return { name, tokens, costUsd, per, timezone, whenExceeded, spent, reserved, resetsAt };
}
