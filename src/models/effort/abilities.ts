// What models can be told about thinking, by the names of models. Unknown names count as the newest models of their provider, which refuses what it does not know.
import type { EffortLevel } from '../../contract/effort.ts';
import type { CallSettings } from '../../ports/model.ts';
import type { ProviderKind } from '../providers/kinds.ts';
import type { EffortAbility } from './plan.ts';

export function findEffortAbility(kind: ProviderKind, modelId: string): EffortAbility {
  switch (kind) {
    case 'anthropic':
      return findAnthropicAbility(modelId);
    case 'openai':
      return findOpenAiAbility(modelId);
    case 'google':
      return findGoogleAbility(modelId);
    case 'ollama':
    case 'openai-compatible':
      return anyLevel;
  }
}

const allLevels: readonly EffortLevel[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** The level in the AI SDK's own words. The server, or the provider's package, decides what it can do. */
export const anyLevel: EffortAbility = {
  by: 'levels',
  levels: allLevels,
  toSettings: (level) => ({ reasoning: level }),
};

const nothing: EffortAbility = { by: 'nothing' };

/** Models that decide themselves how much to think, up to a level. */
const adaptive = /claude-((opus|sonnet|haiku)-4-[6-9]\b|[a-z]+-[5-9])/;
const withoutXhigh = /claude-(opus|sonnet)-4-6/;
const alwaysThinking = /claude-((sonnet|opus)-5-5|fable-5)/;
const withoutThinking = /claude-(instant|v?[12]\b|3-(opus|sonnet|haiku|5))/;
/** Models whose answers have at most 32,000 tokens, thinking included. */
const shortAnswers = /claude-opus-4(-[01]\b|-2|@|$)/;

function findAnthropicAbility(modelId: string): EffortAbility {
  if (withoutThinking.test(modelId)) return nothing;
  if (adaptive.test(modelId)) {
    const levels = (['none', 'low', 'medium', 'high', 'xhigh', 'max'] as const).filter(
      (level) => !(level === 'xhigh' && withoutXhigh.test(modelId)) && !(level === 'none' && alwaysThinking.test(modelId)),
    );
    return { by: 'levels', levels, toSettings: (level) => anthropicSettings(levelToThinking(level)) };
  }
  const max = shortAnswers.test(modelId) ? 24_000 : 32_000;
  return {
    by: 'tokens',
    min: 1024,
    max,
    canStop: true,
    isExtra: true,
    toSettings: (tokens) =>
      anthropicSettings({ thinking: tokens === 0 ? { type: 'disabled' } : { type: 'enabled', budgetTokens: tokens } }),
  };
}

function levelToThinking(level: EffortLevel): Settings {
  return level === 'none' ? { thinking: { type: 'disabled' } } : { thinking: { type: 'adaptive', display: 'summarized' }, effort: level };
}

type Settings = NonNullable<CallSettings['providerOptions']>[string];

function anthropicSettings(settings: Settings): CallSettings {
  return { providerOptions: { anthropic: settings } };
}

function findOpenAiAbility(modelId: string): EffortAbility {
  const levels = openAiLevels(modelId);
  if (levels !== null && levels.length === 0) return nothing;
  return {
    by: 'levels',
    levels: levels ?? allLevels,
    // Without a summary, which not every account may ask for. Unknown models are taken for thinking ones, because the package would drop the effort.
    toSettings: (reasoningEffort) => ({
      providerOptions: { openai: { reasoningEffort, reasoningSummary: null, ...(levels === null && { forceReasoning: true }) } },
    }),
  };
}

/** Null if the model is unknown, empty if it does not think. */
function openAiLevels(modelId: string): readonly EffortLevel[] | null {
  if (/^o\d/.test(modelId)) return ['low', 'medium', 'high'];
  if (/^(gpt-[34]|chatgpt-)/.test(modelId)) return [];
  const [, major, minor = '0', variant = ''] = /^gpt-(\d+)(?:\.(\d+))?(?:-(.*))?$/.exec(modelId) ?? [];
  if (major === undefined) return null;
  if (variant.startsWith('chat')) return [];
  if (variant.startsWith('pro')) return Number(minor) === 0 ? ['high'] : ['medium', 'high', 'xhigh'];
  if (variant.startsWith('codex')) return variant.includes('max') ? ['low', 'medium', 'high', 'xhigh'] : ['low', 'medium', 'high'];
  if (Number(major) > 5) return ['low', 'medium', 'high', 'xhigh', 'max'];
  if (minor === '0') return ['minimal', 'low', 'medium', 'high'];
  if (minor === '1') return ['none', 'low', 'medium', 'high'];
  return Number(minor) < 6 ? ['none', 'low', 'medium', 'high', 'xhigh'] : ['none', 'low', 'medium', 'high', 'xhigh', 'max'];
}

function findGoogleAbility(modelId: string): EffortAbility {
  if (/gemini-(1|2\.0)|gemma/.test(modelId)) return nothing;
  if (/gemini-2\.5/.test(modelId)) {
    const isPro = modelId.includes('pro');
    return {
      by: 'tokens',
      min: isPro ? 128 : 512,
      canStop: !isPro,
      isExtra: false,
      max: isPro ? 32_768 : 24_576,
      toSettings: (thinkingBudget) => googleSettings({ thinkingBudget }),
    };
  }
  const levels: EffortLevel[] = ['low', 'medium', 'high'];
  return {
    by: 'levels',
    levels: /gemini-3(\.[0-6])?-flash/.test(modelId) ? ['minimal', ...levels] : levels,
    toSettings: (thinkingLevel) => googleSettings({ thinkingLevel }),
  };
}

function googleSettings(thinkingConfig: Settings): CallSettings {
  return { providerOptions: { google: { thinkingConfig } } };
}
