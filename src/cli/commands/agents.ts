import type { Agent } from '../../contract/agent.ts';
import { cleanLine } from '../clean.ts';
import type { Args } from '../flags.ts';
import { table } from '../format.ts';
import type { Io } from '../io.ts';
import { printJson } from '../json.ts';
import { groundFlags, withApi } from '../session.ts';

export async function run(args: Args, io: Io): Promise<number> {
  const agents = await withApi(io, { flags: groundFlags(args), drive: false }, async (api) => api.agents());
  if (args.has('json')) printJson(io, agents);
  else io.out(text(agents, io));
  return 0;
}

function text(agents: Agent[], io: Io): string {
  const rows = agents.map((agent) => [
    agent.name,
    agent.tools === undefined ? 'all' : agent.tools.join(' ') || 'none',
    [agent.model ?? []].flat().join(', '),
    agent.source,
    agent.description,
  ]);
  const columns = [{ title: 'AGENT' }, { title: 'TOOLS' }, { title: 'MODEL' }, { title: 'DEFINED IN' }, { title: 'FOR', flexible: true }];
  const lines = table(
    columns,
    rows.map((row) => row.map(cleanLine)),
    { columns: io.outTTY ? io.columns() : 1000, colour: io.colour.out, style: (_, column) => (column === 0 ? 'bold' : null) },
  );
  return `${lines.join('\n')}\n`;
}
