// A workspace is not trusted: whoever wrote its files is not the owner of this machine. Its configuration may narrow what
// holds otherwise; what would widen it, send data elsewhere or hide costs is left out, and the owner is told.
import type { Json } from '../../contract/json.ts';
import { defaultLimits, type LimitName, type LimitsGiven } from '../../contract/limits.ts';
import { parseRule } from '../../rules/policy.ts';
import type { Config } from './schema.ts';

const strength = { off: 0, auto: 1, required: 2 };

/** What holds in the dialects without any configuration: the numbers of their sources. */
const dialectDefaults: Record<string, Record<string, Json>> = {
  ralph: { max_subagents: 5, subagent_timeout: 300 },
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
};

/** Keys of which a part may count. */
const looked = ['model', 'limits', 'rules', 'sandbox', 'dialects'];

interface Left {
  key: string;
  value: unknown;
  why: string;
}

export interface Narrowed {
  config: Config;
  /** Keys that were left out, with the reason. */
  left: Left[];
  /** What of the file would count only with trust, and what holds without it. */
  gives: { what: string; why: string }[];
}

/** What of an untrusted file counts over what its owner has configured. Rules are kept: they only ever narrow. */
export function narrow(file: Config, own: Config): Narrowed {
  const left: Left[] = [];
  const config: Config = {};
  if (file.model?.includes('://')) left.push({ key: 'model', value: file.model, why: 'it holds an address' });
  else if (file.model !== undefined) config.model = file.model;
  // A key that nobody has thought of here widens something until it is shown that it does not.
  for (const [key, value] of Object.entries(file))
    if (!looked.includes(key) && value !== undefined && !isEmpty(value)) left.push({ key, value, why: 'a workspace may not set it' });
  if (file.sandbox !== undefined) {
    if (strength[file.sandbox] >= strength[own.sandbox ?? 'auto']) config.sandbox = file.sandbox;
    else left.push({ key: 'sandbox', value: file.sandbox, why: `\`${file.sandbox}\` is weaker than \`${own.sandbox ?? 'auto'}\`` });
  }
  config.limits = lower(file.limits ?? {}, own.limits ?? {}, left);
  config.dialects = dialects(file.dialects ?? {}, own.dialects ?? {}, left) as NonNullable<Config['dialects']>;
  const gives = left.flatMap(({ key, value, why }) => parts(key, value).map((what) => ({ what, why })));
  const rules = file.rules ?? [];
  if (file.rules !== undefined) config.rules = rules;
  gives.push(...rules.map((rule) => ({ what: `rule ${rule}`, why: 'it can only narrow what your own rules allow' })));
  return { config, left: [...left, ...idle(rules)], gives };
}

/** Rules that do nothing among rules that can only narrow: nothing before them is stricter, so they take nothing back. */
function idle(rules: string[]): Left[] {
  const strict = { allow: 0, ask: 1, deny: 2 };
  const parsed = rules.map(parseRule);
  return rules.flatMap((value, i) => {
    const rule = parsed[i] as (typeof parsed)[number];
    const undoes = parsed.slice(0, i).some((other) => strict[other.action] > strict[rule.action] && overlap(other.tool, rule.tool));
    if (rule.action !== 'allow' || undoes) return [];
    return [{ key: `rules.${i}`, value, why: `\`${value}\` can widen nothing here` }];
  });
}

function overlap(a: string, b: string): boolean {
  const [left, right] = [a.replace(/\*$/, ''), b.replace(/\*$/, '')];
  return left === right || (a.endsWith('*') && right.startsWith(left)) || (b.endsWith('*') && left.startsWith(right));
}

/** All of a value, for the eyes of the one who is asked to trust it; a line for each provider, price or server. Passwords in addresses are none of it. */
function parts(key: string, value: unknown): string[] {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.entries(value).flatMap(([name, inner]) => `${key}.${name} = ${shown(inner)}`);
  return [`${key} = ${shown(value)}`];
}

function shown(value: unknown): string {
  return JSON.stringify(value).replace(/(?<=:\/\/)[^/@"\s]*@/g, '…@');
}

function lower(limits: LimitsGiven, own: LimitsGiven, left: Left[]): LimitsGiven {
  const kept: LimitsGiven = {};
  for (const [name, value] of Object.entries(limits) as [LimitName, number][]) {
    const holds = own[name] ?? defaultLimits[name];
    if (value < holds) kept[name] = value;
    else if (value > holds) left.push({ key: `limits.${name}`, value, why: `${value} is more than ${holds}` });
  }
  return kept;
}

type Sections = Record<string, Record<string, Json>>;

function dialects(file: object, own: object, left: Left[]): Sections {
  const kept: Sections = {};
  for (const [dialect, section] of Object.entries(file as Sections))
    for (const [key, value] of Object.entries(section)) {
      const holds = (own as Sections)[dialect]?.[key] ?? dialectDefaults[dialect]?.[key];
      if (narrows(value, holds)) kept[dialect] = { ...kept[dialect], [key]: value };
      else if (JSON.stringify(value) !== JSON.stringify(holds))
        left.push({
          key: `dialects.${dialect}.${key}`,
          value,
          why:
            holds === undefined ? 'a workspace may not set it' : `${JSON.stringify(value)} is not narrower than ${JSON.stringify(holds)}`,
        });
    }
  return kept;
}

function narrows(value: Json, holds: Json | undefined): boolean {
  if (typeof value === 'number' && typeof holds === 'number') return value < holds;
  if (typeof value === 'boolean') return !value;
  return Array.isArray(value) && Array.isArray(holds) && value.length < holds.length && value.every((item) => holds.includes(item));
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
