// The door that every brief goes through, a root's and a child's alike: validated, checked against depth and counts, its rights and limits
// narrowed to what the parent has. The result is a grant, or a refusal (a RetinueError) before anything was done.
import type { z } from 'zod';
import type { Agent } from '../contract/agent.ts';
import { Brief } from '../contract/brief.ts';
import { RetinueError } from '../contract/error.ts';
import type { Grant, Ruleset } from '../contract/grant.ts';
import { type EffectiveLimits, Limits, type LimitsGiven } from '../contract/limits.ts';
import type { Catalog } from '../ports/catalog.ts';
import type { DialectSetup } from '../ports/dialect.ts';
import type { ModelHandle, ModelRequester, Models } from '../ports/model.ts';
import type { ResultCheck, SchemaCompiler } from '../ports/schema.ts';
import type { Redact } from '../ports/secrets.ts';
import type { AnyTool } from '../ports/tool.ts';
import type { ToolSource, ToolSourceResult } from '../ports/tool-source.ts';
import { effectiveLimits, type ParentLimits } from '../rules/limits.ts';
import { nameCovers, offeredTools, parseRule, serverRuleset, toolRuleset } from '../rules/policy.ts';
import { nearestName, unknownNameMessage } from '../text/suggest.ts';

/** What the owner of this process has settled. */
export interface Settings {
  workspace: string;
  model: string | null;
  limits: LimitsGiven;
  /** The owner's ruleset first, then those that narrow it. */
  rulesets: Ruleset[];
}

export interface Ground {
  settings: Settings;
  catalog: Catalog;
  tools: ReadonlyMap<string, AnyTool>;
  /** What an agent may get beside those. */
  toolSource?: ToolSource | undefined;
  /** Names of the dialect's tools: offered wherever a run may still delegate. */
  delegationTools: readonly string[];
  setup: DialectSetup;
  models: Models;
  compileSchema: SchemaCompiler;
}

/** The parent as admission sees it. */
export interface ParentView {
  depth: number;
  limits: ParentLimits;
  /** Of the parent and all its ancestors. */
  rulesets: Ruleset[];
  notAfter: string | null;
  model: string | null;
  runsInTree: number;
  openChildren: number;
  /** Whether the cost limit that holds here was set by somebody, and is not the built-in one. */
  costByHand: boolean;
}

export interface Admitted {
  brief: Brief;
  agent: Agent;
  handle: ModelHandle;
  /** Models to fall back to, in order. */
  fallbacks: string[];
  grant: Grant;
  /** Every tool there was when the run was admitted; the grant says which of them are offered. */
  tools: ReadonlyMap<string, AnyTool>;
  notices: string[];
  /** Checks a submitted result, where the brief wants one. */
  check: ResultCheck | null;
}

export async function admit(
  input: unknown,
  ids: { runId: string; rootId: string },
  given: Ground,
  parent: ParentView | null,
): Promise<Admitted> {
  const brief = parseBrief(input);
  if (parent) checkRoom(parent, given.setup);
  const agent = findAgent(brief.agent ?? (parent ? undefined : given.setup.root) ?? 'general', given.catalog);
  const { sourced, ground } = await withSource(brief, agent, given);
  checkTools(brief, ground, sourced.absent);
  const rulesets = [...(parent ? [] : ground.settings.rulesets), ...narrowing(brief, agent, ground)];
  const limits = effectiveLimits(
    [
      { from: 'dialect', limits: ground.setup.limits ?? {} },
      { from: 'config', limits: ground.settings.limits },
      { from: 'agent', limits: agent.limits ?? {} },
      { from: 'brief', limits: brief.limits ?? {} },
    ],
    parent?.limits ?? null,
  );
  const handle = await findModel(brief, agent, ids, ground, parent);
  const notices = [...checkPrice(limits, handle, parent), ...sourced.notices];
  const depth = parent ? parent.depth + 1 : 0;
  const tools = toolsToOffer(brief, agent, ground, { depth, limits, rulesets: [...(parent?.rulesets ?? []), ...rulesets] });
  const grant: Grant = { limits, notAfter: parent?.notAfter ?? null, rulesets, tools, workspace: ground.settings.workspace };
  const check = brief.result?.schema ? await ground.compileSchema(brief.result.schema) : null;
  const fallbacks = brief.model === undefined && Array.isArray(agent.model) ? agent.model.slice(1) : [];
  return { brief, agent, handle, fallbacks, grant, tools: ground.tools, notices, check };
}

export function parseBrief(input: unknown): Brief {
  const parsed = Brief.safeParse(input);
  if (parsed.success) return inOrder(parsed.data);
  const issue = parsed.error.issues[0] as z.core.$ZodIssue;
  const path = issue.path.join('.');
  if (issue.code === 'unrecognized_keys') {
    const known = issue.path[0] === 'limits' ? Object.keys(Limits.shape) : issue.path.length === 0 ? Object.keys(Brief.shape) : [];
    const key = issue.keys[0] as string;
    const hint = nearestName(key, known);
    throw new RetinueError(
      'invalid_brief',
      `the brief has an unknown key \`${path === '' ? key : `${path}.${key}`}\`${hint ? `; did you mean \`${hint}\`?` : ''}`,
    );
  }
  throw new RetinueError(issue.path[0] === 'limits' ? 'invalid_limit' : 'invalid_brief', `${path || 'the brief'}: ${issue.message}`);
}

/** The brief without own secrets in it, wherever they stand: it becomes a fact (invariant 11). */
export function withoutSecrets(brief: Brief, redact: Redact): Brief {
  const clean = (value: unknown): unknown => {
    if (typeof value === 'string') return redact(value, false);
    if (Array.isArray(value)) return value.map(clean);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, clean(item)]));
  };
  return clean(brief) as Brief;
}

/** Keys in the order of canonical JSON: the brief stands in a fact. */
function inOrder(brief: Brief): Brief {
  return Object.fromEntries(Object.entries(brief).sort(([a], [b]) => (a < b ? -1 : 1))) as Brief;
}

function checkRoom(parent: ParentView, { whenFull = 'queue' }: DialectSetup): void {
  const { maxDepth, maxRuns, maxConcurrent } = parent.limits;
  if (maxDepth !== null && parent.depth + 1 > maxDepth) {
    throw new RetinueError('depth', `a run at depth ${parent.depth} may not delegate: the deepest level allowed is ${maxDepth}`);
  }
  if (maxRuns !== null && parent.runsInTree >= maxRuns)
    throw new RetinueError('max_runs', `this tree already has the ${maxRuns} runs it may have`);
  if (whenFull === 'refuse' && maxConcurrent !== null && parent.openChildren >= maxConcurrent) {
    throw new RetinueError('parent_full', `${maxConcurrent} delegated runs are at work already; wait for one to end`, { retryable: true });
  }
}

function findAgent(name: string, catalog: Catalog): Agent {
  const agent = catalog.get(name);
  if (agent) return agent;
  throw new RetinueError(
    'unknown_agent',
    unknownNameMessage(
      'agent',
      name,
      catalog.list().map((each) => each.name),
    ),
  );
}

/** The ground with the tools that this agent gets from elsewhere. */
export async function withSource(brief: Brief, agent: Agent, ground: Ground): Promise<{ sourced: ToolSourceResult; ground: Ground }> {
  const sourced = (await ground.toolSource?.tools(agent, brief.tools?.allow)) ?? { tools: [], absent: [], notices: [] };
  if (sourced.tools.length === 0) return { sourced, ground };
  // A name that is there already keeps its meaning.
  const added = sourced.tools.filter((tool) => !ground.tools.has(tool.name)).map((tool): [string, AnyTool] => [tool.name, tool]);
  return { sourced, ground: { ...ground, tools: new Map([...ground.tools, ...added]) } };
}

/** A `*` at the end of a name stands for any tools; of MCP servers there may be none. */
function checkTools(brief: Brief, ground: Ground, absent: string[]): void {
  const known = [...ground.tools.keys()];
  for (const name of [...(brief.tools?.allow ?? []), ...(brief.tools?.deny ?? [])]) {
    if (known.some((tool) => nameCovers(name, tool)) || absent.some((pattern) => nameCovers(pattern, name))) continue;
    if (name.startsWith('mcp__') && name.endsWith('*')) continue;
    throw new RetinueError('unknown_tool', unknownNameMessage('tool', name, known));
  }
}

/** What agent and brief take away, each as a ruleset of its own. */
function narrowing(brief: Brief, agent: Agent, ground: Ground): Ruleset[] {
  const own = agent.tools === undefined ? undefined : [...agent.tools, ...ground.delegationTools];
  const sets: (Ruleset | null)[] = [
    toolRuleset(`agent ${agent.name}`, own, agent.disallowedTools ?? []),
    ruleset(`agent ${agent.name}`, agent.rules),
    agent.mcpServers ? serverRuleset(`agent ${agent.name}`, agent.mcpServers.flatMap(serverNames)) : null,
    toolRuleset('the brief', brief.tools?.allow, brief.tools?.deny ?? []),
    ruleset('the brief', brief.rules),
    ...(brief.rulesets ?? []),
  ];
  return sets.filter((set) => set !== null);
}

function serverNames(given: NonNullable<Agent['mcpServers']>[number]): string[] {
  return typeof given === 'string' ? [given] : Object.keys(given);
}

function ruleset(owner: string, rules: string[] | undefined): Ruleset | null {
  return rules === undefined || rules.length === 0 ? null : { kind: 'narrowing', owner, rules: rules.map(parseRule) };
}

function toolsToOffer(
  brief: Brief,
  agent: Agent,
  ground: Ground,
  run: { depth: number; limits: EffectiveLimits; rulesets: Ruleset[] },
): string[] {
  const delegates = ground.setup.offerAlways || run.limits.maxDepth.value === null || run.depth < run.limits.maxDepth.value;
  const names = [...ground.tools.keys()].filter((name) => {
    if (ground.delegationTools.includes(name)) return delegates;
    return agent.tools === undefined || agent.tools.some((own) => nameCovers(own, name));
  });
  const asked = brief.tools?.allow;
  return offeredTools(run.rulesets, asked === undefined ? names : names.filter((name) => asked.some((own) => nameCovers(own, name))));
}

async function findModel(
  brief: Brief,
  agent: Agent,
  ids: { runId: string; rootId: string },
  ground: Ground,
  parent: ParentView | null,
): Promise<ModelHandle> {
  const own = Array.isArray(agent.model) ? agent.model[0] : agent.model;
  const name = brief.model ?? own ?? parent?.model ?? ground.settings.model;
  if (name === null || name === undefined)
    throw new RetinueError(
      'unknown_model',
      'no model is configured; name one with --model, RETINUE_MODEL or `model` in retinue.config.json',
    );
  const { workspace } = ground.settings;
  return ground.models.resolve(name, userOf(ids, brief, agent.name, workspace));
}

/** Without a price money cannot be counted: a limit set by hand is refused, the built-in one falls away and says so. */
function checkPrice(limits: EffectiveLimits, handle: ModelHandle, parent: ParentView | null): string[] {
  if (handle.price !== null || limits.maxCostUsd.value === null) return [];
  if (costByHand(limits, parent)) {
    throw new RetinueError(
      'price_unknown',
      `the price of ${handle.id} is not known, so a cost limit cannot be kept: set \`prices\`, or leave the limit out`,
    );
  }
  limits.maxCostUsd = { from: 'none', value: null };
  // Said once for a tree, at its root.
  return parent ? [] : [`the price of ${handle.id} is not known: no cost limit holds for this run`];
}

export function costByHand(limits: EffectiveLimits, parent: Pick<ParentView, 'costByHand'> | null): boolean {
  const { from } = limits.maxCostUsd;
  return from === 'parent' ? (parent?.costByHand ?? false) : from !== 'default' && from !== 'none';
}

/** The run as a model is told of it. */
export function userOf(ids: { runId: string; rootId: string }, brief: Brief, agent: string, workspace: string): ModelRequester {
  return { runId: ids.runId, rootId: ids.rootId, workspace, agent, label: brief.label ?? null, task: brief.task };
}

/** What the schema says first, then what only the program can say. */
export function bothChecks(first: ResultCheck | null, second: ResultCheck): ResultCheck {
  return (value) => first?.(value) ?? second(value);
}
