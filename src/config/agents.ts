// The available agents: built-in, the user's and the workspace's.
import { builtInAgents } from '../agents/built-in.ts';
import { createCatalog } from '../agents/catalog.ts';
import { chooseAgents } from '../agents/choose.ts';
import { type AgentFormat, loadAgents, type ParserDeps, type RefusedAgent } from '../agents/files.ts';
import { retinueFormat } from '../agents/formats/index.ts';
import type { Agent } from '../contract/agent.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { Catalog } from '../ports/catalog.ts';
import { type FoundFile, type FoundFiles, findAgentFiles } from './agent-files.ts';
import { anchorAgent } from './anchor-rules.ts';
import { parseDuration } from './duration.ts';
import { checkRule } from './rulesets.ts';
import type { ConfiguredAgents, Settings, TrustItem } from './settings.ts';
import type { TrustList } from './trust.ts';
import type { Env } from './user-folders.ts';

const parserDeps: ParserDeps = { checkRule: (text, i) => checkRule(text, `rules.${i}`), durationMs: parseDuration };

export interface LoadAgentsOptions {
  workspace: string;
  env: Env;
  /** Limits of the configuration. */
  limits: LimitsGiven;
  trustList: TrustList;
}

/**
 * An invalid file is reported, and refuses only its own agent. It keeps its name among the definitions of its owner, so that a less restricted one of a
 * later format does not replace it. An invalid file of the user's also hides the built-in agent and those of workspaces; one in Retinue's folder of a
 * workspace, which was written for Retinue, hides the built-in agent.
 */
export function loadConfiguredAgents({ workspace, env, limits, trustList }: LoadAgentsOptions): ConfiguredAgents {
  const found = findAgentFiles(workspace, env);
  const user = collectAgents(found.map(({ format, user: files }) => ({ format, files })));
  const own = collectAgents(found.map(({ format, workspace: files }) => ({ format, files })));
  const fileOf = (agent: Agent) => own.files.get(agent.source) as FoundFile;
  const trustOf = ({ file, hash }: FoundFile) => trustList.state(file, hash);
  const { agents, widenings, hidden } = chooseAgents({
    builtIn: builtInAgents,
    user: user.agents,
    workspace: own.agents,
    limits,
    isTrusted: (agent) => trustOf(fileOf(agent)) === 'trusted',
  });
  return {
    untrusted: agents
      .filter(({ source }) => own.files.has(source))
      .flatMap((agent) => (trustOf(fileOf(agent)) === 'trusted' ? [] : [agent.name])),
    list: agents
      .filter(({ name }) => !user.refused.some((other) => other.name === name && !user.agents.some((agent) => agent.name === name)))
      .filter(({ name, source }) => source !== 'built-in' || !own.refusedOwn.includes(name))
      // The rules of built-in agents name no paths.
      .map((agent) => (builtInAgents.includes(agent) ? agent : anchorAgent(agent, { workspace, env }))),
    refused: [...user.refused, ...own.refused],
    warnings: [...user.warnings, ...own.warnings],
    leftOut: [...user.leftOut, ...own.leftOut],
    needTrust: widenings.flatMap(({ agent: { name, source }, gives, trusted }) =>
      trusted ? [] : gives.map((each) => ({ name, source, ...each })),
    ),
    hidden: [...user.hidden, ...own.hidden, ...hidden],
    programs: new Map([...user.programs, ...own.programs]),
    trust: mergeTrust(
      widenings.map(({ agent, gives }) => {
        const file = fileOf(agent);
        return { path: file.file, hash: file.hash, state: trustOf(file), gives };
      }),
    ),
  };
}

interface CollectedAgents {
  agents: Agent[];
  refused: RefusedAgent[];
  /** Names that were refused in Retinue's own folder. */
  refusedOwn: string[];
  warnings: ConfiguredAgents['warnings'];
  leftOut: ConfiguredAgents['leftOut'];
  hidden: ConfiguredAgents['hidden'];
  /** By the agent's source. */
  files: Map<string, FoundFile>;
  programs: Map<string, string>;
}

/** The definitions of one owner. Of several with the same name, that of the first format is used. */
function collectAgents(formats: { format: AgentFormat; files: FoundFiles }[]): CollectedAgents {
  const all: CollectedAgents = {
    ...{ agents: [], refused: [], refusedOwn: [], warnings: [], leftOut: [], hidden: [] },
    ...{ files: new Map(), programs: new Map() },
  };
  /** The source of the definition that has a name. */
  const taken = new Map<string, string>();
  for (const { format, files } of formats) {
    const loaded = loadAgents(files.files, parserDeps, format);
    const refused = [...files.refused, ...loaded.refused];
    if (format === retinueFormat) all.refusedOwn = refused.map(({ name }) => name);
    const isTaken = ({ name, source }: { name: string; source: string }) => {
      const by = taken.get(name);
      if (by !== undefined) all.hidden.push({ name, source, by });
      return by !== undefined;
    };
    const agents = loaded.agents.filter((agent) => !isTaken(agent));
    for (const agent of agents) {
      const file = files.files.find(({ path }) => path === agent.source || agent.source.startsWith(`${path}#`));
      all.files.set(agent.source, file as FoundFile);
      all.programs.set(agent.source, format.program);
    }
    for (const { name, source } of [...agents, ...refused]) if (!taken.has(name)) taken.set(name, source);
    all.agents.push(...agents);
    all.refused.push(...refused);
    all.warnings.push(...files.warnings, ...loaded.warnings);
    all.leftOut.push(...loaded.leftOut);
  }
  return all;
}

/** One item for each file: a file may define several agents. */
function mergeTrust(items: TrustItem[]): TrustItem[] {
  const byPath = new Map<string, TrustItem>();
  for (const item of items) {
    const known = byPath.get(item.path);
    byPath.set(item.path, known ? { ...known, gives: [...known.gives, ...item.gives] } : item);
  }
  return [...byPath.values()];
}

/** The agents of the settings as the kernel uses them. Reads the agent files at first use. */
export function createAgentCatalog(settings: Pick<Settings, 'agents'>): Catalog {
  let loaded: Catalog | null = null;
  const catalog = () => {
    loaded ??= createCatalog(settings.agents().list);
    return loaded;
  };
  // Agents of a dialect are listed by that dialect alone.
  const isListed = ({ name }: Agent) => !/^(dex|openfork)\//.test(name);
  return { get: (name) => catalog().get(name), list: () => catalog().list().filter(isListed) };
}
