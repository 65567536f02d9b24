// From an effort to the settings of a provider. A level that a model lacks is replaced by the nearest one, and the plan says so.
import { type Effort, type EffortLevel, effortLevels } from '../../contract/effort.ts';
import { type CallSettings, type EffortPlan, noThinking } from '../../ports/model.ts';

/** How a model can be told how much to think. */
export type EffortAbility =
  /** It does not think. */
  | { by: 'nothing' }
  | { by: 'levels'; levels: readonly EffortLevel[]; toSettings(level: EffortLevel): CallSettings }
  /** `canStop`: 0 tokens turn thinking off. `isExtra`: they are not part of the output limit. */
  | { by: 'tokens'; min: number; max: number; canStop: boolean; isExtra: boolean; toSettings(tokens: number): CallSettings };

/** The most that a model is expected to think at its highest level. */
const mostThinkingTokens = 32_000;

/** The thinking tokens of levels, for models that take only tokens. `max` is the most that the model takes. */
const levelTokens: Record<EffortLevel, number> = {
  none: 0,
  minimal: 1024,
  low: 4096,
  medium: 8192,
  high: 16_384,
  xhigh: 24_576,
  max: Number.POSITIVE_INFINITY,
};

export function planEffort(ability: EffortAbility, effort: Effort): EffortPlan {
  switch (ability.by) {
    case 'nothing':
      return effort === 'none'
        ? { ok: true, settings: {}, thinking: noThinking, note: null }
        : { ok: false, why: 'it is no thinking model' };
    case 'levels':
      return planLevel(ability, effort);
    case 'tokens':
      return planTokens(ability, effort);
  }
}

function planLevel({ levels, toSettings }: Extract<EffortAbility, { by: 'levels' }>, effort: Effort): EffortPlan {
  if (typeof effort === 'number') return { ok: false, why: `it takes a level instead of tokens: ${levels.join(', ')}` };
  const level = findNearest(levels, effort);
  return {
    ok: true,
    settings: toSettings(level),
    thinking: { tokens: Math.min(levelTokens[level], mostThinkingTokens), isExtra: false },
    note: level === effort ? null : `it has no \`${effort}\`, so \`${level}\` is used`,
  };
}

/** The next lower level, else the next higher one. `none` is never a replacement: it would turn thinking off. */
function findNearest(levels: readonly EffortLevel[], wanted: EffortLevel): EffortLevel {
  if (levels.includes(wanted)) return wanted;
  const at = effortLevels.indexOf(wanted);
  const order = [...effortLevels.slice(1, Math.max(1, at)).reverse(), ...effortLevels.slice(at + 1)];
  return order.find((level) => levels.includes(level)) ?? (levels[0] as EffortLevel);
}

function planTokens({ min, max, canStop, isExtra, toSettings }: Extract<EffortAbility, { by: 'tokens' }>, effort: Effort): EffortPlan {
  const wanted = typeof effort === 'number' ? effort : levelTokens[effort];
  const tokens = wanted === 0 && canStop ? 0 : Math.min(max, Math.max(min, wanted));
  const isExact = typeof effort === 'number' || effort === 'none' ? tokens === wanted : true;
  return {
    ok: true,
    settings: toSettings(tokens),
    thinking: { tokens, isExtra },
    note: isExact ? null : `it takes ${min} to ${max} thinking tokens, so ${tokens} are used`,
  };
}
