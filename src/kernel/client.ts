// Somebody who delegates from outside: a root run of kind `client` at depth 0, without a model. What it delegates is at depth 1.
import type { Brief } from '../contract/brief.ts';
import type { Grant } from '../contract/grant.ts';
import type { EffectiveLimits, LimitsGiven } from '../contract/limits.ts';
import type { DialectSetup } from '../ports/dialect.ts';
import { clientLimits } from '../rules/limits.ts';
import { createBudget } from '../scheduling/budget.ts';
import type { Scheduler } from '../scheduling/scheduler.ts';
import { createSlotKeeper } from '../scheduling/slot.ts';
import type { Settings } from './admit.ts';
import type { Journal } from './journal.ts';
import { createLiveRun, type LiveRun } from './live.ts';
import { loopVersion } from './run.ts';

export interface ClientOptions {
  label?: string;
  limits?: LimitsGiven;
}

interface ClientGround {
  settings: Settings;
  setup: DialectSetup;
}

/** What its contract and the owner say about any parent holds for a client too; else it has the limits that were given by hand. */
function limitsOf(given: ClientOptions, { settings, setup }: ClientGround): EffectiveLimits {
  const { maxDepth, maxConcurrent } = settings.limits;
  return clientLimits([
    { from: 'dialect', limits: setup.limits ?? {} },
    {
      from: 'config',
      limits: { ...(maxDepth === undefined ? {} : { maxDepth }), ...(maxConcurrent === undefined ? {} : { maxConcurrent }) },
    },
    { from: 'command', limits: given.limits ?? {} },
  ]);
}

/** The client's run; it has no limits but those given. */
export function placeClient(id: string, given: ClientOptions, ground: ClientGround & { scheduler: Scheduler }): LiveRun {
  const { settings, scheduler } = ground;
  const limits = limitsOf(given, ground);
  return createLiveRun(
    {
      id,
      rootId: id,
      parent: null,
      depth: 0,
      admitted: null,
      rulesets: settings.rulesets,
      costByHand: limits.maxCostUsd.value !== null,
      family: { runs: 0 },
      budget: createBudget({ maxTokens: limits.maxTokens.value, maxCostUsd: limits.maxCostUsd.value }),
      notAfter: null,
    },
    (signal) => createSlotKeeper(scheduler, { rootId: id, parentId: null, limit: 1, signal }),
  );
}

/** Its first facts; durable when it resolves. */
export function recordClient(
  id: string,
  given: ClientOptions,
  ground: ClientGround & { journal: Journal; dialect: string; host: string },
): Promise<void> {
  const { settings, journal, dialect, host } = ground;
  const limits = limitsOf(given, ground);
  const grant: Grant = { limits, notAfter: null, rulesets: settings.rulesets, tools: [], workspace: settings.workspace };
  const brief: Brief = { task: 'delegates from outside', ...(given.label === undefined ? {} : { label: given.label }) };
  const nobody = { agent: null, model: null, notices: [], parentCall: null, parentId: null };
  const created = { ...nobody, brief, depth: 0, dialect, grant, host, kind: 'client' as const, rootId: id };
  const started = { deadline: null, first: null, history: null, loop: loopVersion, model: null, system: null, tools: null };
  return journal.record(id, [
    {
      runId: id,
      drafts: [
        { type: 'run.created', data: created },
        { type: 'run.started', data: started },
      ],
    },
  ]);
}
