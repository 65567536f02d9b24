import type { Agent } from '../../contract/agent.ts';
import { RetinueError } from '../../contract/error.ts';
import { agentNotices } from '../agent-notices.ts';
import { cleanLine } from '../clean.ts';
import { explanationText } from '../explain.ts';
import type { Args } from '../flags.ts';
import { table } from '../format.ts';
import type { Io } from '../io.ts';
import { printJson } from '../json.ts';
import { groundFlags, settle } from '../session.ts';

/** Needs no database. A file that is refused makes the exit code 2; the others are listed all the same. */
export async function run(args: Args, io: Io): Promise<number> {
  const [verb, name] = args.words;
  if (verb !== undefined) checkWords(verb, name);
  const settings = await settle(io, { flags: groundFlags(args) });
  if (name !== undefined) {
    const explanation = await io.explain(settings, name);
    if (args.has('json')) printJson(io, explanation);
    else io.out(explanationText(explanation, io));
    return 0;
  }
  const found = settings.agents();
  const warnings = found.warnings.map(({ source, message }) => `${source}: ${message}`);
  for (const notice of [...agentNotices(found, undefined), ...warnings]) io.err(`retinue: ${cleanLine(notice)}\n`);
  if (args.has('json')) printJson(io, found.list.map(shape));
  else io.out(text(found.list, io));
  return found.refused.length === 0 ? 0 : 2;
}

/** Of servers the names alone: their definitions may hold secrets. */
function shape(agent: Agent): object {
  if (agent.mcpServers === undefined) return agent;
  return { ...agent, mcpServers: agent.mcpServers.flatMap((each) => (typeof each === 'string' ? [each] : Object.keys(each))) };
}

function checkWords(verb: string, name: string | undefined): void {
  if (verb !== 'explain') {
    const task = `to give it as a task: retinue run "agents ${[verb, name].filter((word) => word !== undefined).join(' ')}"`;
    throw new RetinueError('usage', `\`${verb}\` is too much; usage: retinue agents [explain NAME]; ${task}`);
  }
  if (name === undefined) throw new RetinueError('usage', 'which agent? usage: retinue agents explain NAME; `retinue agents` lists them');
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
