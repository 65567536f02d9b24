// What an untrusted workspace file may change: it may narrow the owner's settings. Whatever would widen them, send data elsewhere or hide
// costs is ignored and reported. A key that this file does not know counts as widening.
import type { Json } from '../contract/json.ts';
import { defaultLimits, type LimitName, type LimitsGiven } from '../contract/limits.ts';
import { parseRule } from '../rules/policy.ts';
import { describeDefinition } from '../text/definition.ts';
import type { Config } from './schema.ts';

const sandboxStrength = { off: 0, auto: 1, required: 2 };

/** Defaults of the dialects, from their source designs. */
const dialectDefaults: Record<string, Record<string, Json>> = {
  ralph: { max_subagents: 5, subagent_timeout: 300, max_result_bytes: 16_384 },
  dex: {
    enabled: true,
    max_concurrent: 3,
    default_max_turns: 10,
    max_max_turns: 25,
    default_timeout: 600,
    allowed_hats: ['explorer', 'planner', 'creator', 'critic'],
  },
  rx: { enabled: true, max_depth: 1, max_iterations: 8, timeout_seconds: 120, artifact_kinds: ['note', 'path', 'diff', 'json'] },
  xzatoma: { max_depth: 3, default_max_turns: 10, output_max_size: 4096 },
  openfork: { max_concurrent: 8 },
  claude: { max_concurrent_subagents: 20, max_depth: 3 },
  codex: { max_threads: 6, max_depth: 1 },
};

/** Keys that may apply in part; every other key needs trust. */
const examinedKeys = ['limits', 'budgets', 'rules', 'sandbox', 'dialects'];

/** A model, a provider or a script decides what runs say and do, and receives everything they read. */
const modelReason = 'only your own settings and trusted files choose the model';
const needsTrustReason = 'only a trusted workspace may set it';

interface IgnoredSetting {
  key: string;
  value: unknown;
  why: string;
}

export interface NarrowedConfig {
  /** What applies without trust. Rules are all included: as a separate ruleset they can only narrow. */
  config: Config;
  ignored: IgnoredSetting[];
  /** Every setting that applies only with trust, as shown to the user, and why. */
  needsTrust: { what: string; why: string }[];
}

export function narrowConfig(file: Config, own: Config): NarrowedConfig {
  const ignored: IgnoredSetting[] = [];
  const config: Config = {};
  for (const [key, value] of Object.entries(file))
    if (!examinedKeys.includes(key) && value !== undefined && !isEmptyObject(value))
      ignored.push({ key, value, why: key === 'model' ? modelReason : needsTrustReason });
  if (file.sandbox !== undefined) {
    const ownMode = own.sandbox ?? 'auto';
    if (sandboxStrength[file.sandbox] >= sandboxStrength[ownMode]) config.sandbox = file.sandbox;
    else ignored.push({ key: 'sandbox', value: file.sandbox, why: `\`${file.sandbox}\` is weaker than \`${ownMode}\`` });
  }
  // Layers add up, so a file can only add budgets.
  if (file.budgets !== undefined) config.budgets = file.budgets;
  config.limits = keepLowerLimits(file.limits ?? {}, own.limits ?? {}, ignored);
  config.dialects = keepNarrowerDialects(file.dialects ?? {}, own.dialects ?? {}, ignored) as NonNullable<Config['dialects']>;
  const needsTrust = ignored.flatMap(({ key, value, why }) => settingLines(key, value).map((what) => ({ what, why })));
  const rules = file.rules ?? [];
  if (file.rules !== undefined) config.rules = rules;
  // `ask` and `deny` rules have their full effect without trust.
  if (ignored.length > 0 || rules.some((rule) => parseRule(rule).action === 'allow'))
    needsTrust.push(...rules.map((rule) => ({ what: `rule ${rule}`, why: 'it can only narrow what your own rules allow' })));
  return { config, ignored: [...ignored, ...findIneffectiveRules(rules)], needsTrust };
}

/** `allow` rules that no stricter rule precedes: in a ruleset that can only narrow they have no effect. */
function findIneffectiveRules(rules: string[]): IgnoredSetting[] {
  const strictness = { allow: 0, ask: 1, deny: 2 };
  const parsed = rules.map(parseRule);
  return rules.flatMap((value, i) => {
    const rule = parsed[i] as (typeof parsed)[number];
    const relaxesEarlier = parsed
      .slice(0, i)
      .some((other) => strictness[other.action] > strictness[rule.action] && toolsOverlap(other.tool, rule.tool));
    if (rule.action !== 'allow' || relaxesEarlier) return [];
    return [{ key: `rules.${i}`, value, why: `\`${value}\` has no effect: workspace rules can only narrow` }];
  });
}

function toolsOverlap(a: string, b: string): boolean {
  const [left, right] = [a.replace(/\*$/, ''), b.replace(/\*$/, '')];
  return left === right || (a.endsWith('*') && right.startsWith(left)) || (b.endsWith('*') && left.startsWith(right));
}

/** One line per provider, price or server. */
function settingLines(key: string, value: unknown): string[] {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.entries(value).map(([name, inner]) => `${key}.${name} = ${describeDefinition(inner)}`);
  return [`${key} = ${describeDefinition(value)}`];
}

function keepLowerLimits(limits: LimitsGiven, own: LimitsGiven, ignored: IgnoredSetting[]): LimitsGiven {
  const kept: LimitsGiven = {};
  for (const [name, value] of Object.entries(limits) as [LimitName, number][]) {
    const current = own[name] ?? defaultLimits[name];
    if (value < current) kept[name] = value;
    else if (value > current) ignored.push({ key: `limits.${name}`, value, why: `${value} is more than ${current}` });
  }
  return kept;
}

type Sections = Record<string, Record<string, Json>>;

function keepNarrowerDialects(file: object, own: object, ignored: IgnoredSetting[]): Sections {
  const kept: Sections = {};
  for (const [dialect, section] of Object.entries(file as Sections))
    for (const [key, value] of Object.entries(section)) {
      const current = (own as Sections)[dialect]?.[key] ?? dialectDefaults[dialect]?.[key];
      if (isNarrower(value, current)) kept[dialect] = { ...kept[dialect], [key]: value };
      else if (JSON.stringify(value) !== JSON.stringify(current))
        ignored.push({
          key: `dialects.${dialect}.${key}`,
          value,
          why: current === undefined ? needsTrustReason : `${JSON.stringify(value)} is not narrower than ${JSON.stringify(current)}`,
        });
    }
  return kept;
}

function isNarrower(value: Json, current: Json | undefined): boolean {
  if (typeof value === 'number' && typeof current === 'number') return value < current;
  if (typeof value === 'boolean') return !value;
  return Array.isArray(value) && Array.isArray(current) && value.length < current.length && value.every((item) => current.includes(item));
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
