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

// These belong to a tree: where nothing else is said, a child has its parent's.
const treeWide: readonly LimitName[] = ['maxDepth', 'maxRuns', 'maxTokens', 'maxCostUsd'];
// These a child may set for itself, but never above its parent's.
const neverAbove: readonly LimitName[] = [...treeWide, 'maxConcurrent', 'maxOutputBytes'];

// In the order of canonical JSON: they stand in every `run.created`.
const names = (Object.keys(defaultLimits) as LimitName[]).sort();

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
  const own = lastGiven(name, inherits ? given.filter((source) => source.from !== 'config') : given);
  const limit = own ?? (inherits ? { from: 'parent' as const, value: above } : { from: 'default' as const, value: defaultLimits[name] });
  if (above !== null && neverAbove.includes(name) && (limit.value as number) > above) return { from: 'parent', value: above };
  return limit;
}

function lastGiven(name: LimitName, given: GivenLimits[]): EffectiveLimit | null {
  const source = given.findLast(({ limits }) => limits[name] !== undefined);
  return source ? { from: source.from, value: source.limits[name] as number } : null;
}
