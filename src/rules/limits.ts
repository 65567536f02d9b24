// Which limits hold for a run, and where each comes from: built-in default < config < agent < brief, then cut to what the parent has.
import {
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

/** What a parent passes on: its own limits, with tokens and money as far as they are left. Null values hold nobody back. */
export type ParentLimits = Record<LimitName, number | null>;

// These belong to a tree: where nothing else is said, a child has its parent's. The others a child may set for itself, but never above
// what its parent passes on.
const treeWide: readonly LimitName[] = ['maxDepth', 'maxRuns', 'maxTokens', 'maxCostUsd'];
// These are a run's own: a parent with few turns left may have children with many. A client has no turns: what it says of them is for all.
const own: readonly LimitName[] = ['maxTurns', 'timeoutMs', 'firstByteMs', 'idleMs', 'toolTimeoutMs'];

// In the order of canonical JSON: they stand in every `run.created`.
const names = (Object.keys(defaultLimits) as LimitName[]).sort();

/** What a parent with these limits passes on, less what it has spent. */
export function passedOn(limits: EffectiveLimits, parent: { isClient: boolean }): ParentLimits {
  const passes = (name: LimitName) => parent.isClient || !own.includes(name);
  return Object.fromEntries(names.map((name) => [name, passes(name) ? limits[name].value : null])) as ParentLimits;
}

export function effectiveLimits(given: GivenLimits[], parent: ParentLimits | null): EffectiveLimits {
  const limits = {} as EffectiveLimits;
  for (const name of names) limits[name] = effective(name, given, parent);
  return limits;
}

/** A client has no limits but those set for it by hand. */
export function clientLimits(given: GivenLimits[]): EffectiveLimits {
  const limits = {} as EffectiveLimits;
  for (const name of names) limits[name] = lastGiven(name, given) ?? { from: 'none', value: null };
  if (limits.maxDepth.value === null) limits.maxDepth = { from: 'default', value: defaultLimits.maxDepth };
  return limits;
}

function effective(name: LimitName, given: GivenLimits[], parent: ParentLimits | null): EffectiveLimit {
  const above = parent?.[name] ?? null;
  const inherits = above !== null && treeWide.includes(name);
  // What the configuration says of a whole tree holds at its root already.
  const said = lastGiven(name, inherits ? given.filter(({ from }) => from !== 'config' && from !== 'dialect') : given);
  const limit = said ?? (inherits ? { from: 'parent' as const, value: above } : { from: 'default' as const, value: defaultLimits[name] });
  if (above !== null && (limit.value as number) > above) return { from: 'parent', value: above };
  return limit;
}

function lastGiven(name: LimitName, given: GivenLimits[]): EffectiveLimit | null {
  const source = given.findLast(({ limits }) => limits[name] !== undefined);
  return source ? { from: source.from, value: source.limits[name] as number } : null;
}

/** Whether somebody set the cost limit, here or, if the parent's applies, above. */
export function isCostSetByHand({ maxCostUsd: { from } }: EffectiveLimits, isParents: boolean): boolean {
  return from === 'parent' ? isParents : from !== 'default' && from !== 'none';
}
