// Dex: `spawn_subagent` delegates a task to a subagent with a hat (a role) and waits for its Markdown result.
// Texts quoted from the source are fixed.
import type { z } from 'zod';
import type { Brief } from '../contract/brief.ts';
import type { ErrorInfo } from '../contract/error.ts';
import type { Fact } from '../contract/fact.ts';
import type { Json } from '../contract/json.ts';
import type { Activity, Dialect, DialectTool } from '../ports/dialect.ts';
import { agentToHat, createOwnHats, dexAgents, hatToAgent } from './dex/hats.ts';
import { describeRecipe } from './dex/recipe.ts';
import { createInput, type DexSettings, type Input, inputToRequest, invalidConfig, resolveSettings } from './dex/request.ts';
import { createRunningResult, outcomeToResult, SubagentResult } from './dex/result.ts';
import { formatFirstMessage, formatResult, systemPromptAddition } from './dex/texts.ts';
import type { DialectExtensions } from './extensions.ts';
import { DexConfig, parseSettings } from './settings.ts';
import { toOneLine } from './shared/one-line.ts';
import { getOnlyChild, sumTokens } from './shared/result.ts';

export function dex(config: z.input<typeof DexConfig> = {}, { agents = [], recipes = [] }: DialectExtensions = {}): Dialect {
  const parsed = parseSettings('dex', DexConfig, config);
  const configured = createOwnHats(parsed.hats ?? {});
  const settings = resolveSettings(parsed, [...configured, ...agents], recipes);
  return {
    name: 'dex',
    description: 'Dex: subagents with hats, memories, preloaded files, artifacts and a Markdown summary',
    tools: [createSpawnTool(settings)],
    setup: {
      endsWithClient: true,
      limits: { maxDepth: 1, maxConcurrent: settings.maxConcurrent },
      agents: [...dexAgents, ...configured],
      root: hatToAgent('main'),
      first: formatFirstMessage,
      rules: systemPromptAddition,
      activity: factToActivity,
      notOffered: () => noRecursion,
    },
  };
}

const description = `Spawn an isolated subagent for delegated work.

Use this when you need to:
- Explore a separate codebase or branch without polluting your context
- Perform a bounded subtask (search, analysis, validation)
- Parallelize independent work

The subagent runs with its own context and returns a summary.
Subagents cannot spawn additional subagents.`;

/** The description of the source, and what the owner has added. */
function createDescription({ ownHats, recipes }: DexSettings): string {
  const hatLines = ownHats
    .filter((agent) => agent.description !== '')
    .map((agent) => `- ${agentToHat(agent.name)}: ${toOneLine(agent.description, 300)}`);
  return [
    description,
    ...(hatLines.length === 0 ? [] : [`\nFurther hats:\n${hatLines.join('\n')}`]),
    ...(recipes.length === 0 ? [] : [`\nRecipes (a name with ? is optional):\n${recipes.map(describeRecipe).join('\n')}`]),
  ].join('\n');
}

function createSpawnTool(settings: DexSettings): DialectTool<Input> {
  return {
    name: 'spawn_subagent',
    title: 'Spawn a subagent',
    description: () => createDescription(settings),
    input: createInput(settings) as z.ZodType<Input>,
    output: SubagentResult,
    readOnly: false,
    describeInvalid: (problem) => `${invalidConfig}${problem}`,
    destructive: false,
    toRequest: (input) => inputToRequest(input, settings),
    fromReply(reply) {
      const child = getOnlyChild(reply);
      if ('error' in child) return { parts: [{ text: formatRefusal(child.error) }], isError: true };
      const { row, outcome } = child.view;
      if (outcome === null) {
        const text = `The subagent (run ${row.runId}) is still running.`;
        return { parts: [{ text }], isError: false, structured: createRunningResult(text, row) as Json, besideText: true };
      }
      return { parts: formatResult(outcome), isError: false, structured: outcomeToResult(outcome) as Json, besideText: true };
    },
  };
}

function formatRefusal({ code, message }: ErrorInfo): string {
  return code === 'depth' ? noRecursion : toOneLine(message);
}

const noRecursion = 'subagents cannot spawn additional subagents';

/** An entry of the source's activity log, with its line of the debug log; null for facts that it does not have. */
function factToActivity(fact: Fact, child: { brief: Brief; maxTurns: number | null } | null): Activity | null {
  if (fact.type === 'child.created') {
    const { childId, agent } = fact.data;
    const [hat, turns] = [agentToHat(agent), String(child?.maxTurns ?? '')];
    const metadata = { subagent_id: childId, hat, max_turns: turns };
    return { type: 'subagent_spawn', message: 'spawned', metadata, debug: `spawning subagent: hat=${hat}, max_turns=${turns}` };
  }
  if (fact.type !== 'child.ended') return null;
  const { runId, success, turns, tokens } = fact.data.outcome;
  return {
    type: 'subagent_complete',
    message: 'completed',
    metadata: { subagent_id: runId, success: String(success), iterations: String(turns) },
    debug: `subagent completed: success=${success}, iterations=${turns}, tokens=${sumTokens(tokens)}`,
  };
}
