// Chooses between definitions of the same name: the user's replace built-in ones, the workspace's replace both. A workspace that is not trusted
// can only add agents, and without anything that widens rights.
import type { Agent } from '../contract/agent.ts';
import { defaultLimits, type LimitName, type LimitsGiven } from '../contract/limits.ts';
import { describeDefinition } from '../text/definition.ts';

export interface AgentSources {
  builtIn: Agent[];
  user: Agent[];
  workspace: Agent[];
  /** The limits that apply without an agent. */
  limits: LimitsGiven;
  isTrusted(agent: Agent): boolean;
}

/** What an agent of the workspace gets only if the user trusts it. */
export interface Widening {
  agent: Agent;
  gives: { what: string; why: string }[];
  trusted: boolean;
}

export interface ChosenAgents {
  /** Built-in names first, in their order, then the others by name. */
  agents: Agent[];
  widenings: Widening[];
  /** Definitions that are not used, because another one has the name. */
  hidden: HiddenAgent[];
}

export interface HiddenAgent {
  name: string;
  source: string;
  /** The source of the definition that is used. */
  by: string;
}

export function chooseAgents(sources: AgentSources): ChosenAgents {
  const byName = new Map<string, Agent>();
  const hidden: HiddenAgent[] = [];
  const hide = ({ name, source }: Agent, by: Agent) => void hidden.push({ name, source, by: by.source });
  for (const agent of [...sources.builtIn, ...sortByName(sources.user)]) {
    const taken = byName.get(agent.name);
    if (taken) hide(taken, agent);
    byName.set(agent.name, agent);
  }
  const widenings: Widening[] = [];
  for (const agent of sortByName(sources.workspace)) {
    const taken = byName.get(agent.name);
    const { narrowed, gives } = narrowAgent(agent, sources.limits);
    if (taken) gives.unshift({ what: `replaces the agent ${agent.name}`, why: `the one from ${taken.source} is used instead` });
    const trusted = sources.isTrusted(agent);
    if (gives.length > 0) widenings.push({ agent, gives, trusted });
    if (taken) hide(...((trusted ? [taken, agent] : [agent, taken]) as [Agent, Agent]));
    if (trusted) byName.set(agent.name, placeServersInWorkspace(agent));
    else if (!taken) byName.set(agent.name, narrowed);
  }
  return { agents: [...byName.values()], widenings, hidden };
}

function narrowAgent(agent: Agent, limits: LimitsGiven): { narrowed: Agent; gives: Widening['gives'] } {
  const gives: Widening['gives'] = [];
  const { model, limits: own, mcpServers, runs, checks, ...rest } = agent;
  const kept: LimitsGiven = {};
  for (const [name, value] of Object.entries(own ?? {}) as [LimitName, number][]) {
    const current = limits[name] ?? defaultLimits[name];
    if (value <= current) kept[name] = value;
    else gives.push({ what: `limits.${name} = ${value}`, why: `the limit is ${current}` });
  }
  // A model, or a script of the workspace, would decide what the run does and receive what it reads.
  if (model !== undefined)
    gives.push({ what: `model = ${[model].flat().join(', ')}`, why: 'it uses the model that your own settings choose' });
  if (runs !== undefined)
    gives.push({
      what: `runs = ${'acp' in runs ? runs.acp.join(' ') : runs.program}`,
      why: 'it starts a program, so the agent is carried out by Retinue itself',
    });
  for (const check of checks ?? []) gives.push({ what: `check: ${describeDefinition(check)}`, why: 'it runs a command or an agent' });
  const servers = mcpServers?.filter((server) => {
    if (typeof server === 'string') return true;
    for (const [name, definition] of Object.entries(server)) {
      const why = definition.url === undefined ? 'it runs a command' : 'it contains an address';
      gives.push({ what: `mcpServers.${name} = ${describeDefinition(definition)}`, why: `${why}, so the agent does not get it` });
    }
    return false;
  });
  const narrowed: Agent = {
    ...rest,
    ...(servers === undefined ? {} : { mcpServers: servers }),
    ...(Object.keys(kept).length === 0 ? {} : { limits: kept }),
  };
  return { narrowed, gives };
}

/** The servers of a trusted workspace's agent start in that workspace. */
function placeServersInWorkspace(agent: Agent): Agent {
  if (agent.mcpServers === undefined) return agent;
  const servers = agent.mcpServers.map((server) =>
    typeof server === 'string'
      ? server
      : Object.fromEntries(Object.entries(server).map(([name, each]) => [name, each.command === undefined ? each : { cwd: '.', ...each }])),
  );
  return { ...agent, mcpServers: servers };
}

function sortByName(agents: Agent[]): Agent[] {
  return agents.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
