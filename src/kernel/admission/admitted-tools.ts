// Which tools an admitted run has and is offered, and what its agent and brief take away.
import type { Agent } from '../../contract/agent.ts';
import type { Brief } from '../../contract/brief.ts';
import { RetinueError } from '../../contract/error.ts';
import type { Ruleset } from '../../contract/grant.ts';
import type { EffectiveLimits } from '../../contract/limits.ts';
import type { AnyTool } from '../../ports/tool.ts';
import { createServerRuleset, createToolRuleset, decideCall, filterOfferedTools, nameCovers, parseRule } from '../../rules/policy.ts';
import { unknownNameMessage } from '../../text/suggest.ts';
import type { DialectServices } from '../delegation/dialect-services.ts';
import type { Services } from '../services.ts';

type DialectTools = Pick<DialectServices, 'setup' | 'tools' | 'delegationTools'>;

/** The tools of the process and those that the agent gets from tool sources such as MCP servers. */
export async function collectTools(brief: Brief, agent: Agent, { tools }: DialectTools, { toolSource }: Pick<Services, 'toolSource'>) {
  const sourced = (await toolSource?.tools(agent, brief.tools?.allow)) ?? { tools: [], absent: [], notices: [] };
  if (sourced.tools.length === 0) return { ...sourced, tools };
  // Built-in tools win over sourced tools of the same name.
  const added = sourced.tools.filter((tool) => !tools.has(tool.name)).map((tool): [string, AnyTool] => [tool.name, tool]);
  return { ...sourced, tools: new Map([...tools, ...added]) as ReadonlyMap<string, AnyTool> };
}

/** Unknown names are an error. A name may end in `*`; an MCP server may have no tools at the moment. */
export function checkToolNames(brief: Brief, known: string[], absent: string[]): void {
  for (const name of [...(brief.tools?.allow ?? []), ...(brief.tools?.deny ?? [])]) {
    if (known.some((tool) => nameCovers(name, tool)) || absent.some((pattern) => nameCovers(pattern, name))) continue;
    if (name.startsWith('mcp__') && name.endsWith('*')) continue;
    throw new RetinueError('unknown_tool', unknownNameMessage('tool', name, known));
  }
}

/** Throws if the brief allows a known tool that the run is not offered. Delegation tools are offered by depth. */
export function assertToolsPassedOn(
  brief: Brief,
  offered: readonly string[],
  { dialect, tools }: Pick<OfferOptions, 'dialect' | 'tools'>,
): void {
  const isCovered = (name: string, names: Iterable<string>) => [...names].some((tool) => nameCovers(name, tool));
  const missing = (brief.tools?.allow ?? []).find(
    (name) => !isCovered(name, dialect.delegationTools) && isCovered(name, tools.keys()) && !isCovered(name, offered),
  );
  if (missing !== undefined) throw new RetinueError('unknown_tool', `\`${missing}\` is not a tool that you can pass on`);
}

/** What agent and brief take away: one ruleset each. */
export function narrowingRulesets(brief: Brief, agent: Agent, { delegationTools }: DialectTools): Ruleset[] {
  const sets: (Ruleset | null)[] = [
    ...agentRulesets(agent, delegationTools),
    createToolRuleset('the brief', brief.tools?.allow, brief.tools?.deny ?? []),
    rulesToRuleset('the brief', brief.rules),
    ...(brief.rulesets ?? []),
  ];
  return sets.filter((set) => set !== null);
}

/** Of the definitions of agents, which never change. */
const knownRulesets = new WeakMap<Agent, { delegationTools: readonly string[]; rulesets: Ruleset[] }>();

/** All runs of an agent share them. */
function agentRulesets(agent: Agent, delegationTools: readonly string[]): Ruleset[] {
  const known = knownRulesets.get(agent);
  if (known?.delegationTools === delegationTools) return known.rulesets;
  const withDelegation = (tools: string[] | undefined) => (tools === undefined ? undefined : [...tools, ...delegationTools]);
  const servers = agent.mcpServers?.flatMap((server) => (typeof server === 'string' ? [server] : Object.keys(server)));
  const sets: (Ruleset | null)[] = [
    ...toolListRulesets(agent, withDelegation),
    rulesToRuleset(`agent ${agent.name}`, agent.rules),
    servers ? createServerRuleset(`agent ${agent.name}`, servers) : null,
  ];
  const rulesets = sets.filter((set) => set !== null);
  knownRulesets.set(agent, { delegationTools, rulesets });
  return rulesets;
}

/** What the agent's tool lists take away. With `childTools`, its own list does not bind its children. */
function toolListRulesets(
  { name, tools, childTools, disallowedTools = [] }: Agent,
  withDelegation: (tools: string[] | undefined) => string[] | undefined,
): (Ruleset | null)[] {
  const owner = `agent ${name}`;
  const own = createToolRuleset(owner, withDelegation(tools), disallowedTools);
  if (childTools === undefined) return [own];
  const passedOn = createToolRuleset(owner, withDelegation(childTools), disallowedTools);
  return [own && { ...own, scope: 'own' }, passedOn && { ...passedOn, scope: 'children' }];
}

/** A run that has none of the tools that its agent is made for says so, with the reason for the first of them. */
export function explainMissingTools({ name, tools = [] }: Agent, offered: string[], rulesets: Ruleset[]): { missingTools?: string } {
  const [first] = tools;
  if (first === undefined || tools.some((own) => offered.some((tool) => nameCovers(own, tool)))) return {};
  const { rule, owner } = decideCall(rulesets, { tool: first, subjects: [] });
  const why = rule === null ? 'no rule allows them' : `for example, rule \`${rule}\` of ${owner} denies ${first}`;
  const advice = 'If the agent that delegates should pass them on, name them in its `childTools`.';
  return { missingTools: `agent ${name} has none of its tools here: ${why}. ${advice}` };
}

function rulesToRuleset(owner: string, rules: string[] | undefined): Ruleset | null {
  return rules === undefined || rules.length === 0 ? null : { kind: 'narrowing', owner, rules: rules.map(parseRule) };
}

interface OfferOptions {
  dialect: DialectTools;
  tools: ReadonlyMap<string, AnyTool>;
  depth: number;
  limits: EffectiveLimits;
  /** Of the run and its ancestors. */
  rulesets: Ruleset[];
}

interface Offer {
  dialect: DialectTools;
  tools: OfferOptions['tools'];
  canDelegate: boolean;
  rulesets: Ruleset[];
  offered: string[];
}

/** The last offer of each agent: siblings have the same rules. */
const lastOffers = new WeakMap<Agent, Offer>();

function isSameOffer(known: Offer, { dialect, tools, rulesets }: OfferOptions, canDelegate: boolean): boolean {
  if (known.dialect !== dialect || known.tools !== tools || known.canDelegate !== canDelegate) return false;
  return known.rulesets.length === rulesets.length && rulesets.every((ruleset, i) => ruleset === known.rulesets[i]);
}

export function toolsToOffer(brief: Brief, agent: Agent, options: OfferOptions): string[] {
  const { dialect, depth, limits } = options;
  const canDelegate = dialect.setup.offerAlways || limits.maxDepth.value === null || depth < limits.maxDepth.value;
  if (brief.tools?.allow !== undefined) return findOffered(brief, agent, options, canDelegate);
  const known = lastOffers.get(agent);
  if (known && isSameOffer(known, options, canDelegate)) return known.offered;
  const offered = findOffered(brief, agent, options, canDelegate);
  lastOffers.set(agent, { dialect, tools: options.tools, canDelegate, rulesets: options.rulesets, offered });
  return offered;
}

function findOffered(brief: Brief, agent: Agent, { dialect, tools, rulesets }: OfferOptions, canDelegate: boolean): string[] {
  const names = [...tools.keys()].filter((name) => {
    if (dialect.delegationTools.includes(name)) return canDelegate;
    return agent.tools === undefined || agent.tools.some((own) => nameCovers(own, name));
  });
  const asked = brief.tools?.allow;
  return filterOfferedTools(rulesets, asked === undefined ? names : names.filter((name) => asked.some((own) => nameCovers(own, name))));
}
