// From the parameters of `spawn_subagent` to a brief: hats, recipes, turns and time. The schema offers only what the settings allow.
import { z } from 'zod';
import type { Agent } from '../../contract/agent.ts';
import { RetinueError } from '../../contract/error.ts';
import { maxMs } from '../../contract/limits.ts';
import type { DelegationRequest } from '../../ports/dialect.ts';
import type { DexConfig } from '../settings.ts';
import { briefToRequest, omitUndefined, parseDialectBrief } from '../shared/brief.ts';
import { durationToMs, parseDuration } from './duration.ts';
import { agentToHat, hats, hatToAgent, memoryRules } from './hats.ts';
import { type FilledRecipe, fillRecipe, type Recipe } from './recipe.ts';

export interface DexSettings {
  enabled: boolean;
  maxConcurrent: number;
  defaultMaxTurns: number;
  maxMaxTurns: number;
  defaultTimeoutMs: number;
  allowedHats: readonly string[];
  /** Explorer, or the first allowed hat if explorer is not allowed. */
  defaultHat: string;
  /** Hats of the owner with a description, for the tool's description. */
  ownHats: readonly Agent[];
  recipes: readonly Recipe[];
}

export function resolveSettings(config: z.infer<typeof DexConfig>, ownHats: Agent[], recipes: Recipe[]): DexSettings {
  const available = [...hats, ...ownHats.map(({ name }) => agentToHat(name))];
  const allowedHats = config.allowed_hats ?? available;
  const unknown = allowedHats.find((hat) => !available.includes(hat));
  if (unknown !== undefined || allowedHats.length === 0) {
    const problem = unknown === undefined ? 'must name at least one hat' : `unknown hat \`${unknown}\``;
    throw new RetinueError('invalid_config', `\`dialects.dex.allowed_hats\`: ${problem}; available: ${available.join(', ')}`);
  }
  for (const { name, hat } of recipes) {
    if (hat !== undefined && !available.includes(hat))
      throw new RetinueError('invalid_config', `the recipe ${name}: unknown hat \`${hat}\`; available: ${available.join(', ')}`);
  }
  const timeout = config.default_timeout ?? 600;
  return {
    enabled: config.enabled ?? true,
    maxConcurrent: config.max_concurrent ?? 3,
    defaultMaxTurns: config.default_max_turns ?? 10,
    maxMaxTurns: config.max_max_turns ?? 25,
    defaultTimeoutMs: typeof timeout === 'number' ? timeout * 1000 : (parseDuration(timeout) as number),
    allowedHats,
    defaultHat: allowedHats.includes('explorer') ? 'explorer' : (allowedHats[0] as string),
    ownHats: ownHats.filter(({ name }) => allowedHats.includes(agentToHat(name))),
    // A recipe whose hat is not allowed is not offered.
    recipes: recipes.filter(({ hat }) => hat === undefined || allowedHats.includes(hat)),
  };
}

const timeoutProblem = 'must be whole seconds or a text like "10m", up to 24 days';

/** `hat` may also name a recipe. Without recipes the parameters are those of the source. */
export function createInput(settings: DexSettings) {
  const { recipes, allowedHats } = settings;
  const recipeNames = recipes.map(({ name }) => name).filter((name) => !allowedHats.includes(name));
  const instructions = z.string().describe('Clear, specific task for the subagent');
  return z.strictObject({
    instructions: (recipes.length === 0 ? instructions : instructions.optional()) as z.ZodType<string | undefined, string | undefined>,
    hat: z
      .enum([...allowedHats, ...recipeNames] as [string, ...string[]])
      .optional()
      .describe(`Hat/role for the subagent (default: ${settings.defaultHat})`),
    max_turns: z.int().optional().describe(`Maximum iterations (default: ${settings.defaultMaxTurns}, max: ${settings.maxMaxTurns})`),
    files: z.array(z.string()).optional().describe('Files to pre-read for context'),
    inherit_memories: z.boolean().optional().describe('Give the subagent the memories of this project (default: false)'),
    summary_mode: z.boolean().optional().describe('Return only the final summary instead of everything the subagent wrote (default: true)'),
    timeout: z
      .union([z.int(), z.string()], timeoutProblem)
      .optional()
      .describe(`Maximum runtime, in whole seconds or like "10m" (default: ${settings.defaultTimeoutMs / 1000} seconds)`),
    ...(recipes.length > 0 && {
      recipe: z
        .enum(recipes.map(({ name }) => name) as [string, ...string[]])
        .optional()
        .describe('Prepared instructions to use. `instructions` are then optional and added to them.'),
      parameters: z
        .record(z.string(), z.union([z.string(), z.number(), z.boolean()], 'must be a text, a number, true or false'))
        .optional()
        .describe('The parameters of the recipe'),
    }),
  });
}
export interface Input {
  instructions?: string | undefined;
  hat?: string | undefined;
  max_turns?: number | undefined;
  files?: string[] | undefined;
  inherit_memories?: boolean | undefined;
  summary_mode?: boolean | undefined;
  timeout?: number | string | undefined;
  recipe?: string | undefined;
  parameters?: Record<string, string | number | boolean> | undefined;
}

export function inputToRequest(input: Input, settings: DexSettings): DelegationRequest {
  if (!settings.enabled) return { kind: 'refuse', message: 'subagents are not enabled (`dialects.dex.enabled`)' };
  const isHat = input.hat !== undefined && settings.allowedHats.includes(input.hat);
  const recipeName = input.recipe ?? (isHat ? undefined : input.hat);
  const recipe = settings.recipes.find(({ name }) => name === recipeName);
  const hat = (isHat ? input.hat : recipe?.hat) ?? settings.defaultHat;
  const timeout = input.timeout ?? recipe?.timeout;
  const timeoutMs = resolveTimeoutMs(timeout, settings);
  if (timeoutMs === null) return refuseConfig(`timeout: ${timeoutProblem}`);
  const instructions = resolveInstructions(input, recipe);
  if (!instructions.ok) return refuseConfig(instructions.problem);
  const ownTurns = recipe?.max_turns ?? settings.ownHats.find(({ name }) => name === hatToAgent(hat))?.limits?.maxTurns;
  const maxTurns = input.max_turns !== undefined && input.max_turns > 0 ? input.max_turns : (ownTurns ?? settings.defaultMaxTurns);
  const files = [...(recipe?.files ?? []), ...(input.files ?? [])];
  const fields = {
    task: instructions.text,
    agent: hatToAgent(hat),
    limits: { maxTurns: Math.min(maxTurns, settings.maxMaxTurns), timeoutMs },
    result: { mode: input.summary_mode === false ? ('full' as const) : ('summary' as const) },
    rules: memoryRules(input.inherit_memories ?? false),
    ...omitUndefined({ files: recipe || input.files ? files : undefined, inheritMemories: input.inherit_memories }),
  };
  const parsed = parseDialectBrief(fields, { task: 'instructions' });
  return parsed.ok ? briefToRequest(parsed, null) : refuseConfig(parsed.message);
}

/** The filled recipe, followed by the caller's own instructions. */
function resolveInstructions({ instructions, parameters = {} }: Input, recipe: Recipe | undefined): FilledRecipe {
  if (!recipe) {
    if (Object.keys(parameters).length > 0) return { ok: false, problem: 'parameters: they belong to a recipe; name it in `recipe`' };
    return instructions === undefined
      ? { ok: false, problem: 'instructions: required without a recipe' }
      : { ok: true, text: instructions };
  }
  const given = Object.fromEntries(Object.entries(parameters).map(([key, value]) => [key, String(value)]));
  const filled = fillRecipe(recipe, given);
  if (!filled.ok || instructions === undefined || instructions.trim() === '') return filled;
  return { ok: true, text: `${filled.text}\n\n${instructions}` };
}

export const invalidConfig = 'invalid subagent config: ';

function refuseConfig(message: string): DelegationRequest {
  return { kind: 'refuse', message: `${invalidConfig}${message}` };
}

/** Zero and less mean the default. Null if it is not a valid time. */
function resolveTimeoutMs(timeout: number | string | undefined, { defaultTimeoutMs }: DexSettings): number | null {
  if (timeout === undefined) return defaultTimeoutMs;
  const ms = typeof timeout === 'number' ? timeout * 1000 : durationToMs(timeout);
  if (ms <= 0) return defaultTimeoutMs;
  return ms <= maxMs ? ms : null;
}
