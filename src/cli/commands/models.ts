import type { ListedModel } from '../../config/model-choice.ts';
import type { Settings } from '../../config/settings.ts';
import { RetinueError } from '../../contract/error.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { formatCost, formatCount, formatDuration } from '../../views/format.ts';
import { formatTable } from '../../views/style.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag, serverFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { loadSettings } from '../session/open-api.ts';
import { chooseServer } from '../session/server.ts';

export const modelsCommand: Command = {
  name: 'models',
  group: 'setup',
  usage: '[use NAME] [flags]',
  summary: 'list the models that this machine can use, or choose your default',
  about:
    'Lists your default, one model for each API key in the environment, and the models of a running Ollama server, with prices in US dollars per million tokens. `use NAME` makes one short call to the model; if it answers, NAME becomes `model` in your own configuration.',
  flags: [jsonFlag, ...commonFlags, ...serverFlags],
  positionals: { min: 0, max: 2 },
  examples: [
    ['retinue models', 'what you can use, and what it costs'],
    ['retinue models use anthropic/claude-sonnet-5', 'checks the model and makes it your default'],
  ],
  exitCodes: 'command',
  changes: ({ positionals }) => positionals.length > 0,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const [verb, name] = args.positionals;
  if (verb !== undefined && verb !== 'use')
    throw new RetinueError('usage', `unexpected argument \`${verb}\`; usage: retinue models use NAME`);
  if (verb === 'use' && name === undefined) throw new RetinueError('usage', 'the model is missing; usage: retinue models use NAME');
  const server = chooseServer(io, commonSettings(args));
  if (server !== null && name !== undefined)
    throw new RetinueError('usage', '`models use` changes your own configuration on this machine; it has no --server');
  if (name !== undefined) return useModel(io, await loadSettings(io, { flags: commonSettings(args) }), name, { json: args.has('json') });
  const models =
    server === null
      ? await io.models.list(await loadSettings(io, { flags: commonSettings(args) }))
      : await (await io.connect(server)).models();
  if (args.has('json')) printJson(io, models);
  else if (models.length === 0) io.err(server === null ? `${await io.models.advice()}\n` : 'the server has no model\n');
  else io.out(formatModels(models, io));
  return 0;
}

/** Exit code 1 if the model does not answer; then nothing is written. */
export async function useModel(io: Io, settings: Settings, name: string, { json }: { json: boolean }): Promise<number> {
  io.err(`retinue: asking ${sanitizeLine(name)} for a short answer\n`);
  const check = await io.models.check(settings, name);
  if (!check.ok) {
    if (json) printJson(io, { model: name, ok: false, error: check.message });
    io.err(`retinue: ${sanitizeLine(name)} did not answer, so nothing was changed: ${sanitizeLine(check.message)}\n`);
    return 1;
  }
  const file = await io.models.save(name);
  if (json) printJson(io, { model: name, ok: true, file });
  else io.out(`${sanitizeLine(name)} answered in ${formatDuration(check.ms)} and is your default now (${sanitizeLine(file)})\n`);
  const { model } = await io.settings({ limits: {}, rules: [] });
  if (model !== null && model.value !== name)
    io.err(`retinue: here ${sanitizeLine(model.from)} still chooses ${sanitizeLine(model.value)}\n`);
  return 0;
}

/** `isNumbered`: with a number for each, to choose by. */
export function formatModels(models: ListedModel[], io: Pick<Io, 'outTTY' | 'columns' | 'colour'>, isNumbered = false): string {
  const rows = models.map(({ name, reason, price, contextWindow }, i) => [
    isNumbered ? String(i + 1) : '',
    sanitizeLine(name),
    price === null ? 'unknown' : formatCost(price.input),
    price === null ? 'unknown' : formatCost(price.output),
    contextWindow === null ? '' : formatCount(contextWindow),
    sanitizeLine(reason),
  ]);
  const columns = [
    { title: '' },
    { title: 'MODEL' },
    { title: 'INPUT', side: 'right' as const },
    { title: 'OUTPUT', side: 'right' as const },
    { title: 'CONTEXT', side: 'right' as const },
    { title: 'FOUND BECAUSE', flexible: true },
  ];
  const style = (row: number, column: number) => (column === 1 && models[row]?.isDefault ? ('bold' as const) : null);
  return `${formatTable(columns, rows, { columns: io.outTTY ? io.columns() : 1000, colour: io.colour.out, style }).join('\n')}\n`;
}
