import type { Settings } from '../../config/settings.ts';
import type { Agent } from '../../contract/agent.ts';
import { RetinueError } from '../../contract/error.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { agentToJson } from '../../views/json.ts';
import { formatTable } from '../../views/style.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag, serverFlags } from '../command.ts';
import type { Io, ServerChoice } from '../io.ts';
import { formatHidden, formatSkills } from '../output/agent-tables.ts';
import { describeAgent } from '../output/describe-agent.ts';
import { formatPrograms } from '../output/external-programs.ts';
import { printJson } from '../output/print-json.ts';
import { agentNotices, leftOutNotices } from '../session/agent-notices.ts';
import { loadSettings } from '../session/open-api.ts';
import { chooseServer } from '../session/server.ts';

export const agentsCommand: Command = {
  name: 'agents',
  group: 'setup',
  usage: '[explain NAME | programs] [flags]',
  summary: 'list the available agents, or explain one in detail',
  about:
    'Agents are built in, or defined in `agents/*.md` of your configuration folder or in .retinue/agents of the workspace. Agents and skills of Claude Code, opencode, Gemini CLI, Codex, GitHub Copilot and Goose are listed too (see docs/foreign-agents.md). `explain` shows the tools, limits, rules and model of an agent and where each of them comes from, and what was left out of its file. `programs` lists the external agents that are installed and what is enforced for each. The exit code is 2 if an agent file is invalid; the others are still listed.',
  flags: [jsonFlag, ...commonFlags, ...serverFlags],
  positionals: { min: 0, max: 2 },
  examples: [
    ['retinue agents', 'names for --agent'],
    ['retinue agents explain review', 'what it may do, and which setting says so'],
    ['retinue agents programs', 'which of Claude Code, Codex and opencode can be used with `runs`'],
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
  if (verb === 'programs') return listPrograms(args, settings, io);
  if (name !== undefined) {
    const explanation = await io.explain(settings, name);
    if (args.has('json')) printJson(io, explanation);
    else io.out(describeAgent(explanation, io));
    return 0;
  }
  const found = settings.agents();
  const skills = settings.skills();
  const warnings = [...found.warnings, ...skills.warnings].map(({ source, message }) => `${source}: ${message}`);
  for (const notice of [...agentNotices(found, undefined, settings), ...leftOutNotices(found), ...warnings])
    io.err(`retinue: ${sanitizeLine(notice)}\n`);
  const hides = (name: string) => found.hidden.filter((other) => other.name === name).map(({ source }) => source);
  if (args.has('json'))
    printJson(
      io,
      await Promise.all(found.list.map(async (agent) => ({ ...(await toJson(agent, settings, io)), hides: hides(agent.name) }))),
    );
  else
    io.out(
      `${formatAgents(found.list, io, settings.routes)}${formatHidden(found.hidden, 'AGENT', io)}${formatSkills(skills, io)}${await describePrograms(settings, io)}`,
    );
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
  if (verb === 'programs' && name === undefined) return;
  if (verb !== 'explain') {
    const words = [verb, name].filter((word) => word !== undefined).join(' ');
    throw new RetinueError(
      'usage',
      `unexpected argument \`${verb}\`; usage: retinue agents [explain NAME | programs]; to run it as a task: retinue run "agents ${words}"`,
    );
  }
  if (name === undefined)
    throw new RetinueError('usage', 'the agent is missing; usage: retinue agents explain NAME; `retinue agents` lists them');
}

/** External agents that are installed, for `runs`. Nothing if there are none and no agent uses one. */
async function describePrograms(settings: Settings, io: Io): Promise<string> {
  const rows = await io.externalPrograms(settings);
  const isUsed = settings.agents().list.some(({ runs }) => runs !== undefined);
  return isUsed || rows.some(({ problem }) => problem === null) ? `\n${formatPrograms(rows, io)}` : '';
}

async function listPrograms(args: Args, settings: Settings, io: Io): Promise<number> {
  const rows = await io.externalPrograms(settings);
  if (args.has('json')) printJson(io, rows);
  else io.out(formatPrograms(rows, io));
  return 0;
}

/** For an agent that a program carries out: with what is enforced for it. */
async function toJson(agent: Agent, settings: Settings, io: Io): Promise<object> {
  const { external } = agent.runs ? await io.explain(settings, agent.name) : {};
  if (!external) return agentToJson(agent);
  const { installed, version, enforced, ...detail } = external;
  return { ...agentToJson(agent), installed, version, enforced, external: { ...detail, version } };
}

/** Delegation tools are not part of `tools`: whoever may delegate has them. An agent that has something to pass on is made for it. */
function describeTools({ tools, childTools, disallowedTools = [] }: Agent): string {
  if (tools === undefined) return 'all';
  const canPassOn = childTools !== undefined && !disallowedTools.includes('delegate');
  return [...tools, ...(canPassOn ? ['(delegates)'] : [])].join(' ') || 'none';
}

/** A route of the configuration is stronger than the model of the definition. */
function formatAgents(agents: Agent[], io: Io, routes: Settings['routes'] = {}): string {
  const rows = agents.map((agent) => [
    agent.name,
    describeTools(agent),
    (Object.hasOwn(routes, agent.name) ? routes[agent.name]?.value : [agent.model ?? []].flat())?.join(', ') ?? '',
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
