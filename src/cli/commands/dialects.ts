import { formatTable } from '../../views/style.ts';
import type { Args } from '../args/parse-args.ts';
import { type Command, jsonFlag } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';

export const dialectsCommand: Command = {
  name: 'dialects',
  group: 'setup',
  usage: '[flags]',
  summary: 'list the dialects: sets of delegation tools as other agent programs have them',
  about: '`retinue run --dialect NAME` gives a run the tools of a dialect, so that prompts written for them work unchanged.',
  flags: [jsonFlag],
  positionals: { min: 0, max: 0 },
  examples: [['retinue dialects', 'names for --dialect']],
  exitCodes: 'command',
  changes: false,
  run,
};

/** Needs neither configuration nor database. */
async function run(args: Args, io: Io): Promise<number> {
  const { dialectNames, makeDialect } = await import('../../dialects/index.ts');
  const dialects = dialectNames.map((name) => {
    const { tools, description } = makeDialect(name);
    return { name, tools: tools.map((tool) => tool.name), description };
  });
  if (args.has('json')) printJson(io, dialects);
  else {
    const columns = [{ title: 'DIALECT' }, { title: 'TOOLS' }, { title: 'DESCRIPTION', flexible: true }];
    const rows = dialects.map(({ name, tools, description }) => [name, tools.join(' '), description]);
    const size = { columns: io.outTTY ? io.columns() : 1000, colour: io.colour.out };
    io.out(`${formatTable(columns, rows, { ...size, style: (_, column) => (column === 0 ? 'bold' : null) }).join('\n')}\n`);
  }
  return 0;
}
