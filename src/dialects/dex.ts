// Dex: `spawn_subagent` delegates a task to a subagent with a hat (a role) and waits for its Markdown result.
// Texts quoted from the source are fixed.
import { z } from 'zod';
import type { Brief } from '../contract/brief.ts';
import { type ErrorInfo, RetinueError } from '../contract/error.ts';
import type { Fact } from '../contract/fact.ts';
import { maxMs } from '../contract/limits.ts';
import type { Activity, DelegationRequest, Dialect, DialectTool } from '../ports/dialect.ts';
import { parseDuration } from './dex/duration.ts';
import { agentToHat, dexAgents, type Hat, hats, hatToAgent } from './dex/hats.ts';
import { formatFirstMessage, formatResult, systemPromptAddition } from './dex/texts.ts';
import { DexConfig, parseSettings } from './settings.ts';
import { briefToRequest, omitUndefined, parseBrief } from './shared/brief.ts';
import { toOneLine } from './shared/one-line.ts';
import { getOnlyChild } from './shared/result.ts';

interface Settings {
  enabled: boolean;
  maxConcurrent: number;
  defaultMaxTurns: number;
  maxMaxTurns: number;
  defaultTimeoutMs: number;
  allowedHats: readonly string[];
}

export function dex(config: z.input<typeof DexConfig> = {}): Dialect {
  const settings = resolveSettings(parseSettings('dex', DexConfig, config));
  return {
    name: 'dex',
    description: 'Dex: subagents with hats, memories, preloaded files, artifacts and a Markdown summary',
    tools: [createSpawnTool(settings)],
    setup: {
      endsWithClient: true,
      limits: { maxDepth: 1, maxConcurrent: settings.maxConcurrent },
      agents: dexAgents,
      root: hatToAgent('main'),
      first: formatFirstMessage,
      rules: systemPromptAddition,
      activity: factToActivity,
    },
  };
}

function resolveSettings(config: z.infer<typeof DexConfig>): Settings {
  const allowedHats = config.allowed_hats ?? hats;
  const unknown = allowedHats.find((hat) => !(hats as readonly string[]).includes(hat));
  if (unknown !== undefined || allowedHats.length === 0) {
    const problem = unknown === undefined ? 'must name at least one hat' : `unknown hat \`${unknown}\``;
    throw new RetinueError('invalid_config', `\`dialects.dex.allowed_hats\`: ${problem}; available: ${hats.join(', ')}`);
  }
  const timeout = config.default_timeout ?? 600;
  return {
    enabled: config.enabled ?? true,
    maxConcurrent: config.max_concurrent ?? 3,
    defaultMaxTurns: config.default_max_turns ?? 10,
    maxMaxTurns: config.max_max_turns ?? 25,
    defaultTimeoutMs: typeof timeout === 'number' ? timeout * 1000 : (parseDuration(timeout) as number),
    allowedHats,
  };
}

const createInput = (settings: Settings) =>
  z.strictObject({
    instructions: z.string().describe('Clear, specific task for the subagent'),
    hat: z.enum(hats).optional().describe('Hat/role for the subagent (default: explorer)'),
    max_turns: z.int().optional().describe(`Maximum iterations (default: ${settings.defaultMaxTurns}, max: ${settings.maxMaxTurns})`),
    files: z.array(z.string()).optional().describe('Files to pre-read for context'),
    inherit_memories: z.boolean().optional().describe('Give the subagent the memories of this project (default: false)'),
    summary_mode: z.boolean().optional().describe('Return only the final summary instead of everything the subagent wrote (default: true)'),
    timeout: z
      .union([z.int(), z.string()])
      .optional()
      .describe(`Maximum runtime, in whole seconds or like "10m" (default: ${settings.defaultTimeoutMs / 1000} seconds)`),
  });
type Input = z.infer<ReturnType<typeof createInput>>;

const description = `Spawn an isolated subagent for delegated work.

Use this when you need to:
- Explore a separate codebase or branch without polluting your context
- Perform a bounded subtask (search, analysis, validation)
- Parallelize independent work

The subagent runs with its own context and returns a summary.
Subagents cannot spawn additional subagents.`;

function createSpawnTool(settings: Settings): DialectTool<Input> {
  return {
    name: 'spawn_subagent',
    title: 'Spawn a subagent',
    description: () => description,
    input: createInput(settings),
    readOnly: false,
    destructive: false,
    toRequest: (input) => inputToRequest(input, settings),
    fromReply(reply) {
      const child = getOnlyChild(reply);
      if ('error' in child) return { parts: [{ text: formatRefusal(child.error) }], isError: true };
      const { row, outcome } = child.view;
      if (outcome === null) return { parts: [{ text: `The subagent (run ${row.runId}) is still running.` }], isError: false };
      return { parts: formatResult(outcome), isError: false };
    },
  };
}

function inputToRequest(input: Input, settings: Settings): DelegationRequest {
  if (!settings.enabled) return { kind: 'refuse', message: 'subagents are not enabled (`dialects.dex.enabled`)' };
  const hat: Hat = input.hat ?? 'explorer';
  if (!settings.allowedHats.includes(hat)) {
    return refuseConfig(`hat: \`${hat}\` is not allowed here; allowed: ${settings.allowedHats.join(', ')}`);
  }
  const timeoutMs = resolveTimeoutMs(input.timeout, settings);
  if (timeoutMs === null) return refuseConfig('timeout: must be whole seconds or a text like "10m", up to 24 days');
  const maxTurns = input.max_turns !== undefined && input.max_turns > 0 ? input.max_turns : settings.defaultMaxTurns;
  const fields = {
    task: input.instructions,
    agent: hatToAgent(hat),
    limits: { maxTurns: Math.min(maxTurns, settings.maxMaxTurns), timeoutMs },
    result: { mode: input.summary_mode === false ? ('full' as const) : ('summary' as const) },
    ...omitUndefined({ files: input.files, inheritMemories: input.inherit_memories }),
  };
  const parsed = parseBrief(fields, { task: 'instructions' });
  return parsed.ok ? briefToRequest(parsed, null) : refuseConfig(parsed.message);
}

function refuseConfig(message: string): DelegationRequest {
  return { kind: 'refuse', message: `invalid subagent config: ${message}` };
}

/** Zero and negative numbers mean the default. Null if it is not a valid time. */
function resolveTimeoutMs(timeout: number | string | undefined, { defaultTimeoutMs }: Settings): number | null {
  if (timeout === undefined) return defaultTimeoutMs;
  const text = typeof timeout === 'number' ? null : timeout.trim();
  if (text !== null && !/^-?\d+$/.test(text)) return parseDuration(text);
  const seconds = Number(timeout);
  if (seconds <= 0) return defaultTimeoutMs;
  return seconds * 1000 <= maxMs ? seconds * 1000 : null;
}

function formatRefusal({ code, message }: ErrorInfo): string {
  return code === 'depth' ? 'subagents cannot spawn additional subagents' : toOneLine(message);
}

/** An entry of the source's activity log; null for facts that it does not have. */
function factToActivity(fact: Fact, child: { brief: Brief; maxTurns: number | null } | null): Activity | null {
  if (fact.type === 'child.created') {
    const { childId, agent } = fact.data;
    const metadata = { subagent_id: childId, hat: agentToHat(agent), max_turns: String(child?.maxTurns ?? '') };
    return { type: 'subagent_spawn', message: 'spawned', metadata };
  }
  if (fact.type !== 'child.ended') return null;
  const { runId, success, turns } = fact.data.outcome;
  return {
    type: 'subagent_complete',
    message: 'completed',
    metadata: { subagent_id: runId, success: String(success), iterations: String(turns) },
  };
}
