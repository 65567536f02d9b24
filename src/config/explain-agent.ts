// What an agent would get, computed by the same admission that runs go through. No run is created and no model is looked up.
import type { Agent } from '../contract/agent.ts';
import { checkName } from '../contract/check.ts';
import type { Grant, Ruleset } from '../contract/grant.ts';
import type { EffectiveLimit, LimitName } from '../contract/limits.ts';
import { nameOf } from '../externals/programs.ts';
import { admitBrief } from '../kernel/admission/admission.ts';
import { sampleValues } from '../kernel/admission/agent-parameters.ts';
import { anyAgent } from '../kernel/admission/model-routes.ts';
import type { Catalog } from '../ports/catalog.ts';
import type { Checkouts } from '../ports/checkouts.ts';
import type { ExternalAgents } from '../ports/external-agent.ts';
import type { ModelHandle } from '../ports/model.ts';
import type { AnyTool } from '../ports/tool.ts';
import { decideCall, formatRule } from '../rules/policy.ts';
import { skillToolName } from '../tools/index.ts';
import { findToolPatterns, selectServers } from '../tools/mcp/select-servers.ts';
import { createAgentCatalog } from './agents.ts';
import { describePathLimit } from './explain-shell.ts';
import type { Explanation, ToolVerdict } from './explanation.ts';
import { explainExternal } from './external-programs.ts';
import { assertAgentAccepted } from './refused-agents.ts';
import { checkRules } from './rulesets.ts';
import type { Settings } from './settings.ts';
import type { ShellAccess } from './shell-access.ts';
import type { Env } from './user-folders.ts';

export interface ExplainDeps {
  /** Names of all tools except the dialect's. */
  tools: string[];
  delegationTools: string[];
  /** The owner's ruleset first, then the narrowing ones. */
  rulesets: Ruleset[];
  shell: ShellAccess;
  /** Finds external programs; none if absent. */
  env?: Env | undefined;
}

/** What calls of external agents are recorded and judged as. */
const mappedTools = new Set(['read', 'write', 'edit', 'list', 'glob', 'grep', 'bash', 'webfetch', 'websearch']);
const placeholderRunId = '0'.repeat(16);

/** Rejects with `unknown_agent`, or with `invalid_config` if the agent's file is invalid. */
export async function explainAgent(settings: Settings, name: string, deps: ExplainDeps): Promise<Explanation> {
  const { agent, grant, tools, isolation } = await previewGrant(settings, name, deps);
  const judge = (tool: string): ToolVerdict => ({ tool, ...decideCall(grant.rulesets, { tool, subjects: [] }) });
  const offered = agent.runs ? grant.tools.filter((tool) => mappedTools.has(tool)) : grant.tools;
  const unmapped = grant.tools.filter((tool) => !offered.includes(tool)).map((tool) => denied(tool, 'an external agent has its own tools'));
  const leftOut = [...tools.keys()].filter((tool) => !grant.tools.includes(tool)).map((tool) => explainDepth(judge(tool)));
  const unknown = (agent.tools ?? [])
    // Without skills there is nothing to load.
    .filter((tool) => !tool.startsWith('mcp__') && tool !== skillToolName && !tools.has(tool))
    .map((tool) => denied(tool, 'there is no such tool'));
  const servers = judgeServerTools(agent, settings, judge);
  const limit = grant.tools.includes('bash') ? describePathLimit(grant.rulesets, deps.shell) : null;
  return {
    name: agent.name,
    description: agent.description,
    source: agent.source,
    program: settings.agents().programs.get(agent.source) ?? null,
    model: effectiveModel(agent, settings),
    effort: agent.effort !== undefined ? { value: agent.effort, from: agent.source } : settings.effort,
    tools: {
      offered: [...offered.map(judge), ...servers.filter(({ action }) => action !== 'deny')],
      leftOut: [...leftOut, ...unmapped, ...servers.filter(({ action }) => action === 'deny'), ...unknown],
    },
    limits: Object.fromEntries(
      (Object.entries(grant.limits) as [LimitName, EffectiveLimit][]).map(([limit, { value, from }]) => [
        limit,
        { value, from: limitSource(limit, from, agent, settings) },
      ]),
    ) as Explanation['limits'],
    rulesets: grant.rulesets.map(({ kind, owner, scope, rules }) => ({
      kind,
      owner,
      ...(scope === undefined ? {} : { scope }),
      rules: rules.map((rule) => ({ rule: formatRule(rule), from: rule.from ?? owner })),
    })),
    workspaceRules: agent.workspaceRules ?? true,
    isolation,
    parameters: agent.parameters ?? [],
    checks: (agent.checks ?? []).map(checkName),
    resultSchema: agent.result?.schema ?? null,
    skills: grant.tools.includes(skillToolName) ? settings.skills().list.map(({ name: skill, source }) => ({ name: skill, source })) : [],
    ...(agent.runs && {
      external: await explainExternal(agent.runs, settings.workspace, {
        env: deps.env ?? {},
        shell: deps.shell,
        canUseNetwork: judge('network').action === 'allow',
      }),
    }),
    leftOut: collectLeftOut(settings, agent),
    hides: settings
      .agents()
      .hidden.filter((other) => other.name === agent.name)
      .map(({ source, by }) => ({ source, by })),
    warnings: [
      ...settings
        .agents()
        .warnings.filter(({ source }) => source === agent.source)
        .map(({ message }) => message),
      ...(limit === null ? [] : [limit]),
    ],
    prompt: agent.prompt,
  };
}

/** The grant that a root run of the agent would get. Rejects like `explainAgent`. */
export async function previewGrant(
  settings: Settings,
  name: string,
  deps: ExplainDeps,
): Promise<{ agent: Agent; grant: Grant; tools: ReadonlyMap<string, AnyTool>; isolation: Explanation['isolation'] }> {
  assertAgentAccepted(settings.agents(), name);
  // Admission uses only the names.
  const tools = new Map([...deps.tools, ...deps.delegationTools].map((tool) => [tool, null as unknown as AnyTool]));
  const catalog = createAgentCatalog(settings);
  const dialect = { name: 'native', setup: {}, catalog: withoutChecks(catalog), tools, delegationTools: deps.delegationTools };
  const admissionDeps = {
    settings: { workspace: settings.workspace, model: null, limits: settings.limits.config, rulesets: () => deps.rulesets, checkRules },
    models: { resolve: async () => placeholderModel },
    compileSchema: async () => () => null,
    // Never called: nothing runs.
    checkouts: {} as Checkouts,
    store: { budgets: { list: async () => [] } },
    externals: { nameOf } as unknown as ExternalAgents,
  };
  const request = { runId: placeholderRunId, dialect, parent: null, call: null };
  const found = catalog.get(name);
  const params = found?.parameters ? { params: sampleValues(found) } : {};
  const { created } = await admitBrief({ task: 'none', agent: name, model: 'any', ...params }, request, admissionDeps);
  return { agent: catalog.get(name) as Agent, grant: created.grant, tools, isolation: created.isolation ?? null };
}

/** Checks are not part of a grant, and judging them needs a real shell. */
function withoutChecks(catalog: Catalog): Catalog {
  return {
    ...catalog,
    get(name) {
      const found = catalog.get(name);
      if (found === null) return null;
      const { checks: _, ...agent } = found;
      return agent;
    },
  };
}

/** What has no effect: at all, or until the file is trusted. */
function collectLeftOut(settings: Settings, { name, source }: Agent): Explanation['leftOut'] {
  const { leftOut, needTrust } = settings.agents();
  return [
    ...leftOut.filter((each) => each.source === source).map(({ what, why }) => ({ what, why })),
    ...needTrust
      .filter((each) => each.name === name && each.source === source)
      .map(({ what, why }) => ({ what, why: `${why} (until \`retinue trust\`)` })),
  ];
}

/** Does not connect to servers: judges the patterns that the agent names, or `mcp__NAME__*`. */
function judgeServerTools(agent: Agent, settings: Settings, judge: (tool: string) => ToolVerdict): ToolVerdict[] {
  const { servers, missing } = selectServers(agent, settings.mcpServers);
  const names = [...new Set([...Object.keys(settings.mcpServers), ...Object.keys(servers)])];
  const known = names.flatMap((name) => {
    const named = Object.hasOwn(servers, name) ? findToolPatterns(agent, name) : [];
    return (named.length === 0 ? [`mcp__${name}__*`] : named).map(judge);
  });
  return [...known, ...missing.map((name) => denied(`mcp__${name}__*`, 'there is no such server'))];
}

/** A tool that no rule denies is left out because the run may not delegate further. */
function explainDepth(verdict: ToolVerdict): ToolVerdict {
  return verdict.action === 'deny' ? verdict : denied(verdict.tool, 'limits.maxDepth');
}

function denied(tool: string, owner: string): ToolVerdict {
  return { tool, action: 'deny', rule: null, owner };
}

function effectiveModel(agent: Agent, settings: Settings): Explanation['model'] {
  const { routes } = settings;
  if (settings.model?.from === '--model') return settings.model;
  const route = Object.hasOwn(routes, agent.name) ? routes[agent.name] : undefined;
  if (route) return { value: oneOrList(route.value), from: `model.${agent.name} in ${route.from}` };
  if (agent.model !== undefined) return { value: agent.model, from: agent.source };
  const all = routes[anyAgent];
  return all ? { value: oneOrList(all.value), from: all.from } : (settings.model ?? { value: null, from: 'not set' });
}

function oneOrList(names: string[]): string | string[] {
  return names.length === 1 ? (names[0] as string) : names;
}

function limitSource(name: LimitName, from: EffectiveLimit['from'], agent: Agent, settings: Settings): string {
  if (from === 'agent') return agent.source;
  if (from === 'config') return settings.sources.find(({ key }) => key === `limits.${name}`)?.from ?? 'configuration';
  return from === 'default' ? 'built-in' : from;
}

const placeholderModel: ModelHandle = {
  id: 'any',
  lane: 'any',
  // Never called: nothing runs.
  model: null as unknown as ModelHandle['model'],
  contextWindow: null,
  maxOutputTokens: null,
  price: () => 0,
};
