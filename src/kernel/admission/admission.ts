// Admits new roots and children; `client.ts` admits clients, and `recovery/readmission.ts` resumed runs. Rights, limits and deadline of a brief are narrowed to what its parent
// has. Returns the data of `run.created`, or throws a RetinueError before any fact is recorded.
import type { Agent } from '../../contract/agent.ts';
import type { Brief } from '../../contract/brief.ts';
import { RetinueError } from '../../contract/error.ts';
import type { FactData } from '../../contract/fact.ts';
import type { Grant } from '../../contract/grant.ts';
import type { TraceContext } from '../../contract/trace-context.ts';
import type { CallRef } from '../../conversation/tool-calls.ts';
import type { Catalog } from '../../ports/catalog.ts';
import type { FlowProgram } from '../../ports/flow.ts';
import type { ModelRequester } from '../../ports/model.ts';
import type { StoredBlob } from '../../ports/store.ts';
import { computeEffectiveLimits, findChildLimits, type ParentLimits } from '../../rules/limits.ts';
import { unknownNameMessage } from '../../text/suggest.ts';
import { assertChecksAllowed, findAuthorRights } from '../checks/check-rights.ts';
import type { DialectServices } from '../delegation/dialect-services.ts';
import { assertOneModel, createOwnLoginModel, findExternal, withExternalTools } from '../external/admission.ts';
import { agentDefinition } from '../recovery/pinned-agent.ts';
import type { ModelWork, Run } from '../run.ts';
import { collectChildRulesets } from '../run-rights.ts';
import type { Services } from '../services.ts';
import { thrownToText } from '../tool-calls/call-rights.ts';
import { assertFilesNamed } from '../workspace.ts';
import {
  assertToolsPassedOn,
  checkToolNames,
  collectTools,
  explainMissingTools,
  narrowingRulesets,
  toolsToOffer,
} from './admitted-tools.ts';
import { fillAgent } from './agent-parameters.ts';
import { limitUnpricedCost, unknownPriceError } from './cost-limit.ts';
import { admitEffort } from './effort.ts';
import { chooseModels, findModelSettings } from './model-routes.ts';
import { admitBudgets, type BudgetAdmissionDeps } from './shared-budgets.ts';

export type AdmissionDeps = Pick<Services, 'settings' | 'models' | 'compileSchema' | 'toolSource' | 'host' | 'checkouts' | 'externals'> &
  BudgetAdmissionDeps;

export interface Admission {
  created: FactData['run.created'];
  /** Null for a client or a flow. */
  work: ModelWork | null;
  /** The program of a flow. */
  program?: FlowProgram;
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
  /** Rules of the brief that were checked when the run it continues was created. */
  recordedRules?: readonly string[];
  /** A worker will drive it. */
  isQueued?: boolean;
}

/** Admits a parsed brief. */
export async function admitBrief(given: Brief, request: AdmissionRequest, deps: AdmissionDeps): Promise<Admission> {
  const { runId, dialect, parent, call } = request;
  const { settings } = deps;
  const rootId = parent?.rootId ?? runId;
  const depth = parent ? parent.depth + 1 : 0;
  checkWorkspace(given, request, deps);
  const named = findAgent(given.agent ?? (parent ? undefined : dialect.setup.root) ?? 'general', dialect.catalog);
  if (request.rootModel !== undefined) assertModelInvocation(named);
  const { agent, brief } = fillAgent(named, given);
  for (const check of brief.checks ?? []) if ('agent' in check) findAgent(check.agent, dialect.catalog);
  const external = findExternal(agent, deps);
  const collected = await collectTools(brief, agent, dialect, deps);
  const { absent, notices } = collected;
  const tools = external ? withExternalTools(collected.tools) : collected.tools;
  checkToolNames(brief, [...tools.keys()], absent);
  const newRules = brief.rules?.filter((rule) => !request.recordedRules?.includes(rule)) ?? [];
  if (newRules.length > 0) settings.checkRules(newRules, 'the brief', [...tools.keys(), ...dialect.delegationTools]);
  const own = parent ? [] : settings.rulesets(dialect.delegationTools);
  const author = findAuthorRights(parent, own);
  const shell = author.hasShell ? tools.get('bash') : undefined;
  await assertChecksAllowed(brief.checks ?? [], { tool: shell, rulesets: author.rulesets, workspace: settings.workspace });
  const rulesets = [...own, ...narrowingRulesets(brief, agent, dialect)];
  const limits = computeEffectiveLimits(
    [
      { from: 'dialect', limits: dialect.setup.limits ?? {} },
      { from: 'config', limits: settings.limits },
      { from: 'agent', limits: agent.limits ?? {} },
      { from: 'brief', limits: brief.limits ?? {} },
    ],
    parent && computeRemainingLimits(parent),
  );
  const defaults = findModelSettings(parent, settings);
  const chosen = chooseModels(brief, agent, parent, defaults);
  if (brief.model === undefined) assertOneModel(agent, external, defaults.routes?.[agent.name]);
  // An external agent inherits only the first model of its parent.
  const names = external ? chosen.names.slice(0, 1) : chosen.names;
  const name = names[0] ?? (external?.gated === false ? external.agent : null);
  if (name === null) throw noModelError();
  const requester = { runId, rootId, workspace: settings.workspace, agent: agent.name, label: brief.label ?? null, task: brief.task };
  const { rootModel } = request;
  const isChosenByModel = brief.model !== undefined && rootModel !== undefined;
  const model =
    createOwnLoginModel(agent, external) ?? (await deps.models.resolve(name, isChosenByModel ? { ...requester, rootModel } : requester));
  const ownRulesets = rulesets.filter(({ scope }) => scope !== 'children');
  const allRulesets = [...(parent ? collectChildRulesets(parent) : []), ...ownRulesets];
  const offered = toolsToOffer(brief, agent, { dialect, tools, depth, limits, rulesets: allRulesets });
  if (parent && dialect.setup.refusesMissingTools) assertToolsPassedOn(brief, offered, { dialect, tools });
  const { effort, notices: effortNotices } = admitEffort({ brief, agent, parent, settings, model, external });
  const summaryNotices = parent?.work ? [] : await checkSummaryModel(requester, deps);
  const allNotices = [...limitUnpricedCost(limits, model, parent), ...effortNotices, ...summaryNotices, ...notices];
  // What an external agent writes is never written into the files of others.
  const isWriter = external !== undefined && offered.some((tool) => ['write', 'edit', 'bash'].includes(tool));
  const hasOwnFiles = isWriter || brief.fixture !== undefined;
  const isolation = brief.isolation ?? agent.isolation ?? (hasOwnFiles ? 'worktree' : undefined);
  if (request.isQueued) assertFilesNamed(brief, { isolation, tools: offered });
  else if (isolation) assertCheckouts(deps);
  const workspace = (request.isQueued ? brief.workspace : undefined) ?? settings.workspace;
  const shared = await admitBudgets(brief.budgets, parent, deps);
  if (shared.costBudget !== null && model.price === null) throw unknownPriceError(model.id, `the budget ${shared.costBudget}`);
  const grant: Grant = {
    ...(shared.budgets.length > 0 && { budgets: shared.budgets }),
    limits,
    notAfter: parent?.notAfter ?? null,
    rulesets,
    tools: offered,
    workspace,
  };
  const check = brief.result?.schema ? await deps.compileSchema(brief.result.schema) : null;
  const definition = agentDefinition(agent);
  const created: FactData['run.created'] = {
    agent: agent.name,
    brief,
    definition: definition.hash,
    depth,
    dialect: dialect.name,
    ...(effort !== undefined && { effort }),
    ...(external && { external }),
    grant,
    ...(isolation && { isolation }),
    host: deps.host ?? (depth > 0 ? dialect.setup.host : undefined) ?? 'inline',
    kind: 'agent',
    ...explainMissingTools(agent, offered, allRulesets),
    model: model.id,
    ...(chosen.isRecorded && { models: names }),
    notices: allNotices,
    parentCall: call,
    parentId: parent?.id ?? null,
    rootId,
    ...(request.trace && { trace: request.trace }),
  };
  return { created, work: { agent, model, fallbacks: names.slice(1), tools, check }, blobs: [definition] };
}

/** Without the model that is configured for summaries, runs use their own. */
async function checkSummaryModel(requester: ModelRequester, { models, settings }: AdmissionDeps): Promise<string[]> {
  const name = settings.compaction?.model;
  if (name === undefined) return [];
  return models.resolve(name, requester).then(
    () => [],
    (error: unknown) => [`\`compaction.model\` has no effect: ${thrownToText(error)}`],
  );
}

/** The run as a model provider sees it. */
export function createModelRequester({ id, rootId, brief, grant, work }: Run): ModelRequester {
  return { runId: id, rootId, workspace: grant.workspace, agent: work?.agent.name ?? '', label: brief.label ?? null, task: brief.task };
}

/** Only the first run of a tree chooses its files. */
function checkWorkspace(brief: Brief, { parent, isQueued }: AdmissionRequest, deps: AdmissionDeps): void {
  const { workspace } = brief;
  const [named, second] = (['repository', 'fixture', 'workspace'] as const).filter((key) => brief[key] !== undefined);
  if (named === undefined) return;
  if (parent?.work) throw new RetinueError('invalid_brief', `${named}: only the first run of a tree may name one`);
  if (second !== undefined) throw new RetinueError('invalid_brief', `${second}: a brief names a ${named} or a ${second}, not both`);
  if (isQueued) return;
  if (named !== 'workspace') assertCheckouts(deps);
  else if (workspace !== deps.settings.workspace)
    throw new RetinueError(
      'invalid_brief',
      `workspace: this process works in ${deps.settings.workspace}; start another one in that folder, or leave the brief to a worker`,
    );
}

function assertCheckouts({ checkouts }: AdmissionDeps): void {
  if (!checkouts) throw new RetinueError('workspace', 'checkouts and worktrees are not available in this process');
}

/** Throws if the parent may not have another child. Call it before counting the child. */
export function assertChildAllowed(parent: Run): void {
  const { maxDepth, maxRuns, maxConcurrent } = parent.grant.limits;
  if (maxDepth.value !== null && parent.depth + 1 > maxDepth.value)
    throw new RetinueError('depth', `a run at depth ${parent.depth} may not delegate: the deepest allowed level is ${maxDepth.value}`);
  const { counter } = parent;
  // Each delegation of a client has its own counter.
  if (parent.work && maxRuns.value !== null && counter.runs >= maxRuns.value)
    throw new RetinueError('max_runs', `this tree already has ${maxRuns.value} runs, which is its limit`);
  const outer = counter.outer ?? counter;
  if (outer.max !== null && outer.runs >= outer.max)
    throw new RetinueError('max_runs', `${outer.max} runs were delegated here, which is the limit (\`maxRuns\`)`);
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

/** For a brief that a model or an MCP client wrote. */
function assertModelInvocation({ name, modelInvocation }: Agent): void {
  if (modelInvocation === false)
    throw new RetinueError('denied', `the agent ${name} is started by people only: its definition forbids that models delegate to it`);
}

function noModelError(): RetinueError {
  const advice = 'name one with --model, RETINUE_MODEL or `model` in retinue.config.json';
  return new RetinueError('unknown_model', `no model is configured; ${advice}`);
}

/** The limits a parent passes on, less what it has spent. */
function computeRemainingLimits(parent: Run): ParentLimits {
  const limits = findChildLimits(parent.grant.limits, { isClient: parent.work === null });
  const { tokens, costUsd } = parent.budget.left();
  return { ...limits, maxTokens: tokens === null ? null : Math.max(1, tokens), maxCostUsd: costUsd };
}
