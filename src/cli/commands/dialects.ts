import { dialectNames, makeDialect } from '../../dialects/index.ts';
import type { Args } from '../flags.ts';
import { table } from '../format.ts';
import type { Io } from '../io.ts';
import { printJson } from '../json.ts';

/** Needs neither configuration nor database: names and tools are always the same. */
export async function run(args: Args, io: Io): Promise<number> {
  const list = dialectNames.map((name) => {
    const { tools, description } = makeDialect(name);
    return { name, tools: tools.map((tool) => tool.name), description };
  });
  if (args.has('json')) printJson(io, list);
  else {
    const columns = [{ title: 'DIALECT' }, { title: 'TOOLS' }, { title: 'WHAT IT IS', flexible: true }];
    const rows = list.map(({ name, tools, description }) => [name, tools.join(' '), description]);
    const size = { columns: io.outTTY ? io.columns() : 1000, colour: io.colour.out };
    io.out(`${table(columns, rows, { ...size, style: (_, column) => (column === 0 ? 'bold' : null) }).join('\n')}\n`);
  }
  return 0;
}
