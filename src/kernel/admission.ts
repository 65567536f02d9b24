// Admits every run: roots, children, clients and resumed runs. Rights, limits and deadline of a brief are narrowed to what its parent has. Returns the data
// of `run.created`, or throws a RetinueError before any fact is recorded.
import type { z } from 'zod';
import type { Agent } from '../contract/agent.ts';
import { Brief } from '../contract/brief.ts';
import { RetinueError } from '../contract/error.ts';
import type { FactData } from '../contract/fact.ts';
import type { Grant } from '../contract/grant.ts';
import { type EffectiveLimit, type EffectiveLimits, type LimitSource, Limits, type LimitsGiven } from '../contract/limits.ts';
import { parseTraceContext, type TraceContext, type TraceHeaders } from '../contract/trace-context.ts';
import type { CallRef } from '../conversation/tool-calls.ts';
import type { Catalog } from '../ports/catalog.ts';
import type { ModelHandle, ModelRequester } from '../ports/model.ts';
import type { Redact } from '../ports/secrets.ts';
import type { StoredBlob } from '../ports/store.ts';
import { clientLimits, effectiveLimits, isCostSetByHand, limitsForChildren, type ParentLimits } from '../rules/limits.ts';
import { nearestName, unknownNameMessage } from '../text/suggest.ts';
import { checkToolNames, collectTools, explainMissingTools, narrowingRulesets, toolsToOffer } from './admitted-tools.ts';
import { type ClientReach, clientTag } from './client-reach.ts';
import type { DialectServices } from './dialect-services.ts';
import { redactJson } from './original-arguments.ts';
import { agentDefinition, pinnedAgent, withoutUntrustedServers } from './pinned-agent.ts';
import { type ModelWork, type Run, rulesetsForChildren } from './run.ts';
import type { Services } from './services.ts';
import type { RunState } from './state.ts';

export type AdmissionDeps = Pick<Services, 'settings' | 'models' | 'compileSchema' | 'toolSource' | 'host'>;

export interface Admission {
  created: FactData['run.created'];
  /** Null for a client. */
  work: ModelWork | null;
  /** Texts that `created` refers to. */
  blobs: StoredBlob[];
}

/** What admission needs to know about the dialect. */
export type AdmissionDialect = Pick<DialectServices, 'name' | 'setup' | 'catalog' | 'tools' | 'delegationTools'>;

export interface AdmissionRequest {
  runId: string;
  dialect: AdmissionDialect;
  parent: Run | null;
  /** The parent's tool call that delegates; null for roots and for calls of a client. */
  call: CallRef | null;
  /** Given for the brief of a model or an MCP client (`ModelRequester`). */
  rootModel?: string | null | undefined;
  trace?: TraceContext | undefined;
}

/** Admits a parsed brief. */
export async function admitBrief(brief: Brief, request: AdmissionRequest, deps: AdmissionDeps): Promise<Admission> {
  const { runId, dialect, parent, call } = request;
  const { settings } = deps;
  const rootId = parent?.rootId ?? runId;
  const depth = parent ? parent.depth + 1 : 0;
  const agent = findAgent(brief.agent ?? (parent ? undefined : dialect.setup.root) ?? 'general', dialect.catalog);
  const { tools, absent, notices } = await collectTools(brief, agent, dialect, deps);
  checkToolNames(brief, [...tools.keys()], absent);
  const own = parent ? [] : settings.rulesets(dialect.delegationTools);
  const rulesets = [...own, ...narrowingRulesets(brief, agent, dialect)];
  const limits = effectiveLimits(
    [
      { from: 'dialect', limits: dialect.setup.limits ?? {} },
      { from: 'config', limits: settings.limits },
      { from: 'agent', limits: agent.limits ?? {} },
      { from: 'brief', limits: brief.limits ?? {} },
    ],
    parent && remainingLimits(parent),
  );
  const name = brief.model ?? firstModel(agent) ?? parent?.work?.model.id ?? settings.model;
  if (name === null || name === undefined) throw noModelError();
  const requester = { runId, rootId, workspace: settings.workspace, agent: agent.name, label: brief.label ?? null, task: brief.task };
  const { rootModel } = request;
  const isChosenByModel = brief.model !== undefined && rootModel !== undefined;
  const model = await deps.models.resolve(name, isChosenByModel ? { ...requester, rootModel } : requester);
  const ownRulesets = rulesets.filter(({ scope }) => scope !== 'children');
  const allRulesets = [...(parent ? rulesetsForChildren(parent) : []), ...ownRulesets];
  const offered = toolsToOffer(brief, agent, { dialect, tools, depth, limits, rulesets: allRulesets });
  const allNotices = [...limitUnpricedCost(limits, model, parent), ...notices];
  const grant: Grant = { limits, notAfter: parent?.notAfter ?? null, rulesets, tools: offered, workspace: settings.workspace };
  const check = brief.result?.schema ? await deps.compileSchema(brief.result.schema) : null;
  const fallbacks = brief.model === undefined && Array.isArray(agent.model) ? agent.model.slice(1) : [];
  const definition = agentDefinition(agent);
  const created: FactData['run.created'] = {
    agent: agent.name,
    brief,
    definition: definition.hash,
    depth,
    dialect: dialect.name,
    grant,
    host: deps.host ?? (depth > 0 ? dialect.setup.host : undefined) ?? 'inline',
    kind: 'agent',
    ...explainMissingTools(agent, offered, allRulesets),
    model: model.id,
    notices: allNotices,
    parentCall: call,
    parentId: parent?.id ?? null,
    rootId,
    ...(request.trace && { trace: request.trace }),
  };
  return { created, work: { agent, model, fallbacks, tools, check }, blobs: [definition] };
}

/** What is not given of the reach is as for a library scope: it sees its own runs only. */
export interface ClientOptions extends Partial<ClientReach> {
  label?: string;
  limits?: LimitsGiven;
  /** The trace of the caller. Malformed values are ignored. */
  trace?: TraceHeaders;
}

/** Admits a client: a root without a model, for a program or connection that delegates from outside. It has only the limits set for it. */
export function admitClient(runId: string, options: ClientOptions, dialect: AdmissionDialect, { settings }: AdmissionDeps): Admission {
  const { maxDepth, maxConcurrent, maxOutputBytes } = settings.limits;
  const limits = clientLimits([
    { from: 'dialect', limits: dialect.setup.limits ?? {} },
    {
      from: 'config',
      limits: {
        ...(maxDepth === undefined ? {} : { maxDepth }),
        ...(maxConcurrent === undefined ? {} : { maxConcurrent }),
        ...(maxOutputBytes === undefined ? {} : { maxOutputBytes }),
      },
    },
    { from: 'command', limits: options.limits ?? {} },
  ]);
  const rulesets = settings.rulesets(dialect.delegationTools);
  const trace = parseTraceContext(options.trace);
  const created: FactData['run.created'] = {
    agent: null,
    brief: {
      task: 'delegates from outside',
      ...(options.label === undefined ? {} : { label: options.label }),
      ...(options.name ? { tags: [clientTag(options.name)] } : {}),
    },
    depth: 0,
    dialect: dialect.name,
    grant: { limits, notAfter: null, rulesets, tools: [], workspace: settings.workspace },
    host: 'inline',
    kind: 'client',
    model: null,
    notices: [],
    parentCall: null,
    parentId: null,
    rootId: runId,
    ...(trace && { trace }),
  };
  return { created, work: null, blobs: [] };
}

/** Admits a recorded run again, with the rights and limits of its facts. Rejects if its model is not available. */
export async function readmitRun(
  state: RunState,
  dialect: AdmissionDialect,
  deps: AdmissionDeps & Pick<Services, 'store'>,
): Promise<Admission> {
  const created = state.created.data;
  const { brief, grant, kind, agent: name, model, rootId } = created;
  const { runId } = state;
  // Its rights were granted for one folder, and the facts may have come from elsewhere.
  if (grant.workspace !== deps.settings.workspace)
    throw new RetinueError('usage', `run ${runId} belongs to the workspace ${grant.workspace}: resume it there (-C)`);
  if (kind === 'client' || name === null || model === null) return { created, work: null, blobs: [] };
  const pinned = await pinnedAgent({ runId, data: created }, deps.store);
  const today = dialect.catalog.get(name);
  const agent = pinned ? withoutUntrustedServers(pinned, today) : (today ?? { name, description: '', prompt: '', source: 'facts' });
  const listed = brief.model === undefined && Array.isArray(agent.model) ? agent.model : [];
  const current = state.fallback?.model ?? model;
  const requester = { runId, rootId, workspace: grant.workspace, agent: name, label: brief.label ?? null, task: brief.task };
  const handle = await deps.models.resolve(current, requester);
  const check = brief.result?.schema ? await deps.compileSchema(brief.result.schema) : null;
  const { tools } = await collectTools(brief, agent, dialect, deps);
  return { created, work: { agent, model: handle, fallbacks: listed.slice(listed.indexOf(current) + 1), tools, check }, blobs: [] };
}

/** The run as a model provider sees it. */
export function modelRequester({ id, rootId, brief, grant, work }: Run): ModelRequester {
  return { runId: id, rootId, workspace: grant.workspace, agent: work?.agent.name ?? '', label: brief.label ?? null, task: brief.task };
}

/** Throws `invalid_brief` or `invalid_limit`. The keys are sorted, as in the fact that carries the brief. */
export function parseBrief(input: unknown): Brief {
  const parsed = Brief.safeParse(input);
  if (parsed.success) return Object.fromEntries(Object.entries(parsed.data).sort(([a], [b]) => (a < b ? -1 : 1))) as Brief;
  const issue = parsed.error.issues[0] as z.core.$ZodIssue;
  const path = issue.path.join('.');
  if (issue.code === 'unrecognized_keys') {
    const known = issue.path[0] === 'limits' ? Object.keys(Limits.shape) : issue.path.length === 0 ? Object.keys(Brief.shape) : [];
    const key = issue.keys[0] as string;
    const guess = nearestName(key, known);
    throw new RetinueError(
      'invalid_brief',
      `the brief has an unknown key \`${path === '' ? key : `${path}.${key}`}\`${guess ? `; did you mean \`${guess}\`?` : ''}`,
    );
  }
  throw new RetinueError(issue.path[0] === 'limits' ? 'invalid_limit' : 'invalid_brief', `${path || 'the brief'}: ${issue.message}`);
}

/** Removes secrets of this process from all texts of a brief: it becomes a fact (invariant 11). */
export function redactBrief(brief: Brief, redact: Redact): Brief {
  return redactJson(brief, redact);
}

/** Throws if the parent may not have another child. Call it before counting the child. */
export function checkRoom(parent: Run): void {
  const { maxDepth, maxRuns, maxConcurrent } = parent.grant.limits;
  if (maxDepth.value !== null && parent.depth + 1 > maxDepth.value)
    throw new RetinueError('depth', `a run at depth ${parent.depth} may not delegate: the deepest allowed level is ${maxDepth.value}`);
  // Each delegation of a client has its own run counter, so maxRuns does not apply to the client itself.
  const runs = parent.work ? parent.counter.runs : 0;
  if (maxRuns.value !== null && runs >= maxRuns.value)
    throw new RetinueError('max_runs', `this tree already has ${maxRuns.value} runs, which is its limit`);
  if (parent.dialect.setup.whenFull === 'refuse' && maxConcurrent.value !== null && parent.openChildren >= maxConcurrent.value)
    throw new RetinueError('parent_full', `${maxConcurrent.value} delegated runs are already running; wait for one to end`, {
      retryable: true,
    });
}

function findAgent(name: string, catalog: Catalog): Agent {
  const agent = catalog.get(name);
  if (agent) return agent;
  const known = catalog.list().map((each) => each.name);
  throw new RetinueError('unknown_agent', unknownNameMessage('agent', name, known));
}

function firstModel({ model }: Agent): string | undefined {
  return Array.isArray(model) ? model[0] : model;
}

function noModelError(): RetinueError {
  const advice = 'name one with --model, RETINUE_MODEL or `model` in retinue.config.json';
  return new RetinueError('unknown_model', `no model is configured; ${advice}`);
}

/** The limits a parent passes on, less what it has spent. */
function remainingLimits(parent: Run): ParentLimits {
  const limits = limitsForChildren(parent.grant.limits, { isClient: parent.work === null });
  const { tokens, costUsd } = parent.budget.left();
  return { ...limits, maxTokens: tokens === null ? null : Math.max(1, tokens), maxCostUsd: costUsd };
}

/**
 * Without a price, cost cannot be limited. A limit set by hand, and one that the parent has, are errors; only a tree without any known price loses the
 * built-in limit, with a notice.
 */
function limitUnpricedCost(limits: EffectiveLimits, model: ModelHandle, parent: Run | null): string[] {
  const { value } = limits.maxCostUsd;
  if (model.price !== null || value === null) return [];
  const isParents = parent?.work && parent.grant.limits.maxCostUsd.value !== null;
  if (isParents || isCostSetByHand(limits, parent?.hasExplicitCostLimit ?? false)) throw unknownPriceError(model.id, limits.maxCostUsd);
  limits.maxCostUsd = { from: 'none', value: null };
  return parent?.work ? [] : [`the price of ${model.id} is unknown: this run has no cost limit`];
}

const costLimitSources: Partial<Record<LimitSource, string>> = {
  config: '`limits.maxCostUsd` of the configuration',
  command: 'the command (`--budget-usd`)',
  agent: 'the agent',
  brief: 'the brief (`--budget-usd`)',
  parent: 'its parent run',
};

function unknownPriceError(model: string, { value, from }: EffectiveLimit): RetinueError {
  const limit = `the cost limit of $${value} from ${costLimitSources[from] ?? from}`;
  const advice = `set \`prices\` for it, or \`prices["*"]\` for all models without a price, or remove ${limit}`;
  return new RetinueError('price_unknown', `the price of ${model} is unknown, so its cost cannot be limited: ${advice}`);
}
