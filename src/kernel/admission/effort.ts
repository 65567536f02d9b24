// How much a run's model thinks: who decides it, and what happens if the model has no such setting.
import type { Agent } from '../../contract/agent.ts';
import type { Brief } from '../../contract/brief.ts';
import type { Effort } from '../../contract/effort.ts';
import { RetinueError } from '../../contract/error.ts';
import type { FactData } from '../../contract/fact.ts';
import { type CallSettings, type ModelHandle, noThinking, type Thinking } from '../../ports/model.ts';
import { formatEffort } from '../../text/effort.ts';
import type { Run } from '../run.ts';
import type { Services } from '../services.ts';

interface EffortSources {
  brief: Brief;
  agent: Agent;
  parent: Run | null;
  settings: Pick<Services['settings'], 'effort'>;
  model: ModelHandle;
  external: FactData['run.created']['external'];
}

/**
 * The effort of a new run, and what the user should know about it. Throws `invalid_brief` if the brief asks for an effort that the model does not support. An
 * agent, a parent or the configuration sets it for many models, so there the run starts without it.
 */
export function admitEffort({ brief, agent, parent, settings, model, external }: EffortSources): { effort?: Effort; notices: string[] } {
  const sources: [string, Effort | undefined][] = [
    ['the brief', brief.effort],
    [`the agent ${agent.name}`, agent.effort],
    ['the parent run', parent?.state.created.data.effort],
    ['the configuration', settings.effort],
  ];
  const [owner, effort] = sources.find(([, value]) => value !== undefined) ?? [];
  if (owner === undefined || effort === undefined) return { notices: [] };
  const text = `effort ${formatEffort(effort)} of ${owner}`;
  const plan = external ? ({ ok: false, why: `${external.agent} decides that itself` } as const) : planEffort(model, effort);
  if (plan.ok) return { effort, notices: plan.note === null ? [] : [`${text}: ${model.id}: ${plan.note}`] };
  if (brief.effort !== undefined)
    throw new RetinueError('invalid_brief', `effort: ${formatEffort(effort)} is not possible with ${model.id}: ${plan.why}`);
  return { notices: [`${text} has no effect with ${model.id}: ${plan.why}`] };
}

function planEffort(model: ModelHandle, effort: Effort) {
  if (model.planEffort) return model.planEffort(effort);
  return effort === 'none'
    ? ({ ok: true, settings: {}, thinking: noThinking, note: null } as const)
    : ({ ok: false, why: 'it has no effort setting' } as const);
}

/** The effort of the run as settings of this model; null if the run has none, or the model does not support it. */
export function resolveEffort(run: Run, model: ModelHandle): { effort: Effort; settings: CallSettings; thinking: Thinking } | null {
  const { effort } = run.state.created.data;
  if (effort === undefined) return null;
  const plan = planEffort(model, effort);
  return plan.ok ? { effort, settings: plan.settings, thinking: plan.thinking } : null;
}
