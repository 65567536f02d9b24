import type { Agent } from '../../contract/agent.ts';
import { RetinueError } from '../../contract/error.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { agentToJson } from '../../views/json.ts';
import { formatTable } from '../../views/style.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag, serverFlags } from '../command.ts';
import type { Io, ServerChoice } from '../io.ts';
import { describeAgent } from '../output/describe-agent.ts';
import { printJson } from '../output/print-json.ts';
import { agentNotices } from '../session/agent-notices.ts';
import { loadSettings } from '../session/open-api.ts';
import { chooseServer } from '../session/server.ts';

export const agentsCommand: Command = {
  name: 'agents',
  group: 'setup',
  usage: '[explain NAME] [flags]',
  summary: 'list the available agents, or explain one in detail',
  about:
    'Agents are built in, or defined in `agents/*.md` of your configuration folder or ~/.claude, or in .retinue/agents and .claude/agents of the workspace. `explain` shows the tools, limits, rules and model of an agent and where each of them comes from. The exit code is 2 if an agent file is invalid; the others are still listed.',
  flags: [jsonFlag, ...commonFlags, ...serverFlags],
  positionals: { min: 0, max: 2 },
  examples: [
    ['retinue agents', 'names for --agent'],
    ['retinue agents explain review', 'what it may do, and which setting says so'],
  ],
  exitCodes: 'command',
  changes: false,
  run,
};

/** Needs no database. */
async function run(args: Args, io: Io): Promise<number> {
  const [verb, name] = args.positionals;
  if (verb !== undefined) checkVerb(verb, name);
  const server = chooseServer(io, commonSettings(args));
  if (server !== null) return listServerAgents(args, io, server);
  const settings = await loadSettings(io, { flags: commonSettings(args) });
  if (name !== undefined) {
    const explanation = await io.explain(settings, name);
    if (args.has('json')) printJson(io, explanation);
    else io.out(describeAgent(explanation, io));
    return 0;
  }
  const found = settings.agents();
  const warnings = found.warnings.map(({ source, message }) => `${source}: ${message}`);
  for (const notice of [...agentNotices(found, undefined), ...warnings]) io.err(`retinue: ${sanitizeLine(notice)}\n`);
  if (args.has('json')) printJson(io, found.list.map(agentToJson));
  else io.out(formatAgents(found.list, io));
  return found.refused.length === 0 ? 0 : 2;
}

async function listServerAgents(args: Args, io: Io, server: ServerChoice): Promise<number> {
  if (args.positionals.length > 0)
    throw new RetinueError('usage', '`agents explain` works only on the machine of the agents; `retinue agents` lists those of a server');
  const agents = await (await io.connect(server)).agents();
  if (args.has('json')) printJson(io, agents);
  else io.out(formatAgents(agents, io));
  return 0;
}

function checkVerb(verb: string, name: string | undefined): void {
  if (verb !== 'explain') {
    const words = [verb, name].filter((word) => word !== undefined).join(' ');
    throw new RetinueError(
      'usage',
      `unexpected argument \`${verb}\`; usage: retinue agents [explain NAME]; to run it as a task: retinue run "agents ${words}"`,
    );
  }
  if (name === undefined)
    throw new RetinueError('usage', 'the agent is missing; usage: retinue agents explain NAME; `retinue agents` lists them');
}

/** Delegation tools are not part of `tools`: whoever may delegate has them. An agent that has something to pass on is made for it. */
function describeTools({ tools, childTools, disallowedTools = [] }: Agent): string {
  if (tools === undefined) return 'all';
  const canPassOn = childTools !== undefined && !disallowedTools.includes('delegate');
  return [...tools, ...(canPassOn ? ['(delegates)'] : [])].join(' ') || 'none';
}

function formatAgents(agents: Agent[], io: Io): string {
  const rows = agents.map((agent) => [
    agent.name,
    describeTools(agent),
    [agent.model ?? []].flat().join(', '),
    agent.source,
    agent.description,
  ]);
  const columns = [
    { title: 'AGENT' },
    { title: 'TOOLS' },
    { title: 'MODEL' },
    { title: 'DEFINED IN' },
    { title: 'DESCRIPTION', flexible: true },
  ];
  const lines = formatTable(
    columns,
    rows.map((row) => row.map(sanitizeLine)),
    { columns: io.outTTY ? io.columns() : 1000, colour: io.colour.out, style: (_, column) => (column === 0 ? 'bold' : null) },
  );
  return `${lines.join('\n')}\n`;
}
