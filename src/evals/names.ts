// Whether the agents and models that an eval names exist, before anything is recorded.
import type { Agent } from '../contract/agent.ts';
import type { Brief } from '../contract/brief.ts';
import { isRetinueError, RetinueError } from '../contract/error.ts';
import { attemptKey, type EvalInput } from '../contract/eval.ts';
import { chooseModels } from '../kernel/admission/model-routes.ts';
import type { Catalog } from '../ports/catalog.ts';
import type { Models } from '../ports/model.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import { listAttempts } from './flow.ts';

export interface NameDeps {
  catalog: Catalog;
  models: Models;
  /** The default model, and models by agent. */
  settings: Parameters<typeof chooseModels>[3];
  workspace: string;
  /** Advice for a brief that has no model to run it; null if it has one. */
  advise(brief: Pick<Brief, 'model' | 'agent'>): Promise<string | null>;
}

type NamedBrief = Pick<Brief, 'agent' | 'model' | 'task'>;

/** Throws `unknown_agent`, `unknown_model` or `invalid_config` for the first name that no run could have. */
export async function assertNamesKnown(input: EvalInput, deps: NameDeps): Promise<void> {
  const { settings } = deps;
  const known = new Set<string>();
  /** `inherits`: without a model of its own, it has that of the run that it reviews. */
  async function check(brief: NamedBrief, inherits: boolean): Promise<void> {
    const key = JSON.stringify([brief.agent, brief.model, inherits]);
    if (known.has(key)) return;
    known.add(key);
    const agent = findAgent(brief.agent ?? 'general', deps.catalog);
    // A program has its own models.
    if (agent.runs !== undefined) return;
    const [name] = chooseModels(brief as Brief, agent, null, inherits ? { ...settings, model: null } : settings).names;
    if (name !== undefined) return assertModelKnown(name, brief, deps);
    const advice = inherits ? null : await deps.advise(brief);
    if (advice !== null) throw new RetinueError('unknown_model', advice);
  }
  for (const { case: each, agent: chosen, model, repeat } of listAttempts(input)) {
    const { task } = each;
    const recorded = input.replay?.recorded[attemptKey({ case: each.name, agent: chosen, model, repeat })];
    if (recorded && 'result' in recorded) continue;
    const agent = chosen ?? each.agent;
    if (!recorded) await check({ task, ...(agent !== undefined && { agent }), ...(model !== null && { model }) }, false);
    for (const [index, review] of (each.checks ?? []).entries()) {
      if (!('agent' in review) || recorded?.kept.some((kept) => kept.index === index)) continue;
      await check({ agent: review.agent, task, ...(review.model !== undefined && { model: review.model }) }, true);
    }
  }
}

function findAgent(name: string, catalog: Catalog): Agent {
  const agent = catalog.get(name);
  if (agent) return agent;
  const names = catalog.list().map((each) => each.name);
  throw new RetinueError('unknown_agent', unknownNameMessage('agent', name, names));
}

async function assertModelKnown(name: string, { agent = 'general', task }: NamedBrief, { models, workspace }: NameDeps): Promise<void> {
  try {
    await models.resolve(name, { runId: '', rootId: '', workspace, agent, label: null, task });
  } catch (error) {
    // Any other error may be over when the case runs.
    if (isRetinueError(error) && (error.code === 'unknown_model' || error.code === 'invalid_config')) throw error;
  }
}
