// Which definition of a name counts: built-in < the user's < the workspace's. A workspace is not trusted: until it is, its
// agents are additions that can only narrow.
import type { Agent } from '../contract/agent.ts';
import { defaultLimits, type LimitName, type LimitsGiven } from '../contract/limits.ts';

export interface AgentPlaces {
  builtIn: Agent[];
  user: Agent[];
  workspace: Agent[];
  /** Limits that hold without an agent. */
  limits: LimitsGiven;
  isTrusted(agent: Agent): boolean;
}

/** What of an agent of the workspace counts only with trust. */
export interface Widening {
  agent: Agent;
  gives: { what: string; why: string }[];
  trusted: boolean;
}

export interface Chosen {
  /** Those of the built-in list first, in its order, then the others by name. */
  agents: Agent[];
  widenings: Widening[];
}

export function chooseAgents(places: AgentPlaces): Chosen {
  const byName = new Map<string, Agent>();
  for (const agent of [...places.builtIn, ...sorted(places.user)]) byName.set(agent.name, agent);
  const widenings: Widening[] = [];
  for (const agent of sorted(places.workspace)) {
    const taken = byName.get(agent.name);
    const { narrowed, gives } = narrow(agent, places.limits);
    if (taken) gives.unshift({ what: `replaces the agent ${agent.name}`, why: `the one of ${taken.source} holds` });
    const trusted = places.isTrusted(agent);
    if (gives.length > 0) widenings.push({ agent, gives, trusted });
    if (trusted) byName.set(agent.name, inWorkspace(agent));
    else if (!taken) byName.set(agent.name, narrowed);
  }
  return { agents: [...byName.values()], widenings };
}

function narrow(agent: Agent, limits: LimitsGiven): { narrowed: Agent; gives: Widening['gives'] } {
  const gives: Widening['gives'] = [];
  const { model, limits: own, mcpServers, ...rest } = agent;
  const kept: LimitsGiven = {};
  for (const [name, value] of Object.entries(own ?? {}) as [LimitName, number][]) {
    const holds = limits[name] ?? defaultLimits[name];
    if (value <= holds) kept[name] = value;
    else gives.push({ what: `limits.${name} = ${value}`, why: `${holds} holds` });
  }
  const names = [model ?? []].flat().filter((name) => {
    if (!name.includes('://')) return true;
    gives.push({ what: `model = ${name}`, why: 'it holds an address' });
    return false;
  });
  const servers = mcpServers?.filter((server) => {
    if (typeof server === 'string') return true;
    for (const [name, definition] of Object.entries(server)) {
      const why = definition.url === undefined ? 'it runs a command' : 'it holds an address';
      gives.push({ what: `mcpServers.${name} = ${shown(definition)}`, why: `${why}, so the agent goes without it` });
    }
    return false;
  });
  const narrowed: Agent = {
    ...rest,
    ...(servers === undefined ? {} : { mcpServers: servers }),
    ...(names.length === 0 ? {} : { model: names.length === 1 ? (names[0] as string) : names }),
    ...(Object.keys(kept).length === 0 ? {} : { limits: kept }),
  };
  return { narrowed, gives };
}

/** All of it, for the eyes of the one who is asked to trust it; passwords in addresses are none of it. */
function shown(definition: object): string {
  return JSON.stringify(definition).replace(/(?<=:\/\/)[^/@"\s]*@/g, '…@');
}

/** Servers that a trusted workspace brings along start in it. */
function inWorkspace(agent: Agent): Agent {
  if (agent.mcpServers === undefined) return agent;
  const placed = agent.mcpServers.map((server) =>
    typeof server === 'string'
      ? server
      : Object.fromEntries(Object.entries(server).map(([name, each]) => [name, each.command === undefined ? each : { cwd: '.', ...each }])),
  );
  return { ...agent, mcpServers: placed };
}

function sorted(agents: Agent[]): Agent[] {
  return agents.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
