// What an agent would get, by the very admission that a run goes through; no run is made and no model is looked up.

import type { Explanation, ToolVerdict } from '../cli/explanation.ts';
import { assertAgentAccepted } from '../cli/session/agent-notices.ts';
import type { Settings } from '../cli/settings.ts';
import type { Agent } from '../contract/agent.ts';
import type { Grant, Ruleset } from '../contract/grant.ts';
import type { EffectiveLimit, LimitName } from '../contract/limits.ts';
import { admitBrief } from '../kernel/admission.ts';
import type { ModelHandle } from '../ports/model.ts';
import type { AnyTool } from '../ports/tool.ts';
import { decideCall, formatRule } from '../rules/policy.ts';
import { findToolPatterns, selectServers } from '../tools/mcp/select-servers.ts';
import { catalogOf } from './agents.ts';

export interface ExplainGround {
  /** Names of the tools there are, without those of the dialect. */
  tools: string[];
  delegationTools: string[];
  /** Of the settings: the owner's, then those that narrow it. */
  rulesets: Ruleset[];
}

const nobody = '0'.repeat(16);

/** Rejects with `unknown_agent`, and with `invalid_config` where the agent's file is refused. */
export async function explainAgent(settings: Settings, name: string, given: ExplainGround): Promise<Explanation> {
  const found = settings.agents();
  const { agent, grant, tools } = await grantOf(settings, name, given);
  const verdict = (tool: string): ToolVerdict => ({ tool, ...decideCall(grant.rulesets, { tool, subjects: [] }) });
  const left = [...tools.keys()].filter((tool) => !grant.tools.includes(tool)).map((tool) => byDepth(verdict(tool)));
  const isBuiltIn = (tool: string) => !tool.startsWith('mcp__');
  const missing = (agent.tools ?? [])
    .filter((tool) => isBuiltIn(tool) && !tools.has(tool))
    .map((tool) => denied(tool, 'there is no such tool'));
  const servers = serverVerdicts(agent, settings, verdict);
  return {
    name: agent.name,
    description: agent.description,
    source: agent.source,
    model: modelOf(agent, settings),
    tools: {
      offered: [...grant.tools.map(verdict), ...servers.filter(({ action }) => action !== 'deny')],
      leftOut: [...left, ...servers.filter(({ action }) => action === 'deny'), ...missing],
    },
    limits: Object.fromEntries(
      (Object.entries(grant.limits) as [LimitName, EffectiveLimit][]).map(([limit, { value, from }]) => [
        limit,
        { value, from: sourceOf(limit, from, agent, settings) },
      ]),
    ) as Explanation['limits'],
    rulesets: grant.rulesets.map(({ kind, owner, rules }) => ({
      kind,
      owner,
      rules: rules.map((rule) => ({ rule: formatRule(rule), from: rule.from ?? owner })),
    })),
    workspaceRules: agent.workspaceRules ?? true,
    warnings: found.warnings.filter(({ source }) => source === agent.source).map(({ message }) => message),
    prompt: agent.prompt,
  };
}

/** What a root run of the agent would be given. Rejects like `explainAgent`. */
export async function grantOf(
  settings: Settings,
  name: string,
  given: ExplainGround,
): Promise<{ agent: Agent; grant: Grant; tools: ReadonlyMap<string, AnyTool> }> {
  assertAgentAccepted(settings.agents(), name);
  const catalog = catalogOf(settings);
  // Admission looks at their names alone.
  const tools = new Map([...given.tools, ...given.delegationTools].map((tool) => [tool, null as unknown as AnyTool]));
  const { delegationTools } = given;
  const dialect = { name: 'native', setup: {}, catalog, tools, delegationTools };
  const deps = {
    settings: { workspace: settings.workspace, model: null, limits: settings.limits.config, rulesets: () => given.rulesets },
    models: { resolve: async () => anyModel },
    compileSchema: async () => () => null,
  };
  const request = { runId: nobody, dialect, parent: null, call: null };
  const { created } = await admitBrief({ task: 'none', agent: name, model: 'any' }, request, deps);
  return { agent: catalog.get(name) as Agent, grant: created.grant, tools };
}

/** Servers are not asked: what an agent names of their tools stands for what they have. */
function serverVerdicts(agent: Agent, settings: Settings, verdict: (tool: string) => ToolVerdict): ToolVerdict[] {
  const { servers, missing } = selectServers(agent, settings.mcpServers);
  const names = [...new Set([...Object.keys(settings.mcpServers), ...Object.keys(servers)])];
  const known = names.flatMap((name) => {
    const named = Object.hasOwn(servers, name) ? findToolPatterns(agent, name) : [];
    return (named.length === 0 ? [`mcp__${name}__*`] : named).map(verdict);
  });
  return [...known, ...missing.map((name) => denied(`mcp__${name}__*`, 'there is no such server'))];
}

/** No rule denies it: the run is as deep as it may go. */
function byDepth(verdict: ToolVerdict): ToolVerdict {
  return verdict.action === 'deny' ? verdict : denied(verdict.tool, 'limits.maxDepth');
}

function denied(tool: string, owner: string): ToolVerdict {
  return { tool, action: 'deny', rule: null, owner };
}

function modelOf(agent: Agent, settings: Settings): Explanation['model'] {
  if (settings.model?.from === '--model') return settings.model;
  if (agent.model !== undefined) return { value: agent.model, from: agent.source };
  return settings.model ?? { value: null, from: 'not set' };
}

function sourceOf(name: LimitName, from: EffectiveLimit['from'], agent: Agent, settings: Settings): string {
  if (from === 'agent') return agent.source;
  if (from === 'config') return settings.sources.find(({ key }) => key === `limits.${name}`)?.from ?? 'configuration';
  return from === 'default' ? 'built-in' : from;
}

const anyModel: ModelHandle = {
  id: 'any',
  lane: 'any',
  // Never called: nothing runs.
  model: null as unknown as ModelHandle['model'],
  contextWindow: null,
  maxOutputTokens: null,
  price: () => 0,
};
