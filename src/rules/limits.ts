// Computes the limits of a run and the source of each: built-in default < dialect < config < agent < brief, then at most what the parent passes on.
// The configuration may only lower the limits of a dialect. They rise with the settings of the dialect, an agent, a brief or a flag of the command.
import {
  completeLimits,
  defaultLimits,
  type EffectiveLimit,
  type EffectiveLimits,
  type LimitName,
  type LimitSource,
  type LimitsGiven,
} from '../contract/limits.ts';

export interface GivenLimits {
  from: Exclude<LimitSource, 'default' | 'parent' | 'none'>;
  limits: LimitsGiven;
}

/** The limits that a parent passes on, with the tokens and cost that it has left. Null does not limit the child. */
export type ParentLimits = Record<LimitName, number | null>;

/** Limits of a tree: a child that sets none has its parent's. */
const treeWide: readonly LimitName[] = ['maxDepth', 'maxRuns', 'maxTokens', 'maxCostUsd', 'maxOutputBytes'];
/** Limits of a single run, which its children do not inherit. A client takes no turns, so its values are meant for its children. */
const perRun: readonly LimitName[] = ['maxTurns', 'timeoutMs', 'firstByteMs', 'idleMs', 'toolTimeoutMs', 'maxToolCalls'];

/** Sorted, because limits are part of every `run.created`. */
const names = (Object.keys(defaultLimits) as LimitName[]).sort();

/** Shared by all runs that have them. */
const defaults = Object.fromEntries(
  names.map((name) => [name, Object.freeze({ from: 'default', value: defaultLimits[name] })]),
) as EffectiveLimits;

/** The limits that a parent passes on, before its spending is subtracted. */
export function findChildLimits(limits: EffectiveLimits, parent: { isClient: boolean }): ParentLimits {
  const isPassedOn = (name: LimitName) => parent.isClient || !perRun.includes(name);
  return Object.fromEntries(names.map((name) => [name, isPassedOn(name) ? completeLimits(limits)[name].value : null])) as ParentLimits;
}

/** The limits of an agent's run. Of several given values the last one counts, unless it is a configured one above the dialect's. */
export function computeEffectiveLimits(given: GivenLimits[], parent: ParentLimits | null): EffectiveLimits {
  const limits = {} as EffectiveLimits;
  for (const name of names) limits[name] = effectiveLimit(name, given, parent);
  return limits;
}

/** The limits of a client: only those that were given, and a depth. */
export function computeClientLimits(given: GivenLimits[]): EffectiveLimits {
  const limits = {} as EffectiveLimits;
  for (const name of names) limits[name] = lastGiven(name, given) ?? { from: 'none', value: null };
  if (limits.maxDepth.value === null) limits.maxDepth = { from: 'default', value: defaultLimits.maxDepth };
  return limits;
}

function effectiveLimit(name: LimitName, given: GivenLimits[], parent: ParentLimits | null): EffectiveLimit {
  const parents = parent?.[name] ?? null;
  const inherits = parents !== null && treeWide.includes(name);
  // The root already applied what dialect and configuration set for the tree.
  const own = lastGiven(name, inherits ? given.filter(({ from }) => from !== 'config' && from !== 'dialect') : given);
  const limit = own ?? (inherits ? { from: 'parent' as const, value: parents } : defaults[name]);
  if (parents !== null && (limit.value as number) > parents) return { from: 'parent', value: parents };
  return limit;
}

function lastGiven(name: LimitName, given: GivenLimits[]): EffectiveLimit | null {
  const values = given.flatMap(({ from, limits }) => (limits[name] === undefined ? [] : [{ from, value: limits[name] }]));
  const last = values.at(-1);
  const dialects = values.find(({ from }) => from === 'dialect');
  if (last?.from === 'config' && dialects && last.value >= dialects.value) return dialects;
  return last ?? null;
}

/** Whether the cost limit was set explicitly: for this run or, if it is inherited, for the parent (`isParents`). */
export function isCostSetByHand({ maxCostUsd: { from } }: EffectiveLimits, isParents: boolean): boolean {
  return from === 'parent' ? isParents : from !== 'default' && from !== 'none';
}
