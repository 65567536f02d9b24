// Surveys through the whole runtime: real kernel, real tools, real files.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { checkRules } from '../../src/config/rulesets.ts';
import { completeOutcome } from '../../src/contract/complete-outcome.ts';
import type { Fact, FactData } from '../../src/contract/fact.ts';
import type { LimitsGiven } from '../../src/contract/limits.ts';
import type { Outcome } from '../../src/contract/outcome.ts';
import { native } from '../../src/dialects/native.ts';
import { createModels } from '../../src/models/models.ts';
import { readConversation } from '../../src/models/offline/conversation.ts';
import { planNextStep } from '../../src/models/offline/next-step.ts';
import { createOfflineModels } from '../../src/models/offline.ts';
import { builtInRuleset, parseRule } from '../../src/rules/policy.ts';
import { systemClock } from '../../src/system/clock.ts';
import { createWorld } from '../support/world.ts';

const fixtures = join(import.meta.dirname, '../fixtures');
export const fixture = join(fixtures, 'survey');
export const expectedReport = (): string => readFileSync(join(fixtures, 'survey-report.md'), 'utf8');

export interface Survey {
  outcome: Outcome;
  report: string;
  facts: Fact[];
  children: Outcome[];
  calls(runId: string): FactData['tool.asked'][];
}

export interface SurveyOptions {
  /** Copied into the workspace. */
  from?: string;
  files?: Record<string, string | Buffer>;
  /** Whatever else the workspace needs. */
  prepare?(workspace: string): void;
  task?: string;
  limits?: LimitsGiven;
  /** Rules that narrow. */
  rules?: string[];
  brief?: object;
}

export const models = () => createModels({ providers: { offline: createOfflineModels({ clock: systemClock }) } });

export async function survey(given: SurveyOptions): Promise<Survey> {
  await using world = await createWorld();
  const workspace = join(world.workspace, 'ws');
  mkdirSync(workspace);
  if (given.from !== undefined) cpSync(given.from, workspace, { recursive: true });
  for (const [path, content] of Object.entries(given.files ?? {})) {
    mkdirSync(dirname(join(workspace, path)), { recursive: true });
    writeFileSync(join(workspace, path), content);
  }
  given.prepare?.(workspace);
  // A plain user cannot remove a folder without permissions.
  using _ = { [Symbol.dispose]: () => void execFileSync('chmod', ['-R', 'u+rwX', workspace]) };
  const owner = builtInRuleset(
    native.tools.map((tool) => tool.name),
    [],
  );
  const narrowing = { kind: 'narrowing' as const, owner: 'the test', rules: (given.rules ?? []).map(parseRule) };
  const settings = {
    workspace,
    model: 'offline/surveyor',
    limits: given.limits ?? {},
    rulesets: () => [owner, narrowing],
    checkRules,
  };
  await using surveyed = await createWorld({ options: { models: models(), settings } });
  const handle = await surveyed.runtime.start({ task: given.task ?? 'Survey this repository', ...given.brief });
  const outcome = await handle.outcome;
  const { facts } = surveyed;
  return {
    outcome,
    report: outcome.summary,
    facts,
    children: facts.flatMap((fact) =>
      fact.type === 'run.ended' && fact.data.outcome.depth > 0 ? [completeOutcome(fact.data.outcome)] : [],
    ),
    calls: (runId) => facts.flatMap((fact) => (fact.type === 'tool.asked' && fact.runId === runId ? [fact.data] : [])),
  };
}

/** The section of a report under a heading; empty if it has none. */
export function section(report: string, title: string): string {
  return new RegExp(`^## ${title}\\n\\n([\\s\\S]*?)(?=\\n\\n## |\\n\\n---\\n)`, 'm').exec(report)?.[1] ?? '';
}

/** Runs the rules without the runtime: `answer` gives the result of each call. */
export function converse(
  task: string,
  offered: string[],
  answer: (tool: string, input: Record<string, unknown>) => string | { error: string },
  model = 'offline/surveyor',
): { text: string; turns: number; calls: { tool: string; input: object }[]; most: number } {
  const prompt: LanguageModelV4Prompt = [
    { role: 'system', content: 'system' },
    { role: 'user', content: [{ type: 'text', text: task }] },
  ];
  const tools = offered.map((name) => ({ type: 'function' as const, name, inputSchema: { type: 'object' as const } }));
  const options: LanguageModelV4CallOptions = { prompt, tools, toolChoice: { type: 'auto' } };
  const made: { tool: string; input: object }[] = [];
  let most = 0;
  for (let turns = 1; ; turns++) {
    const { text, calls } = planNextStep(readConversation(options, model));
    if (calls.length === 0) return { text, turns, calls: made, most };
    if (turns > 20) throw new Error('the survey did not end');
    made.push(...calls);
    most = Math.max(most, calls.length);
    const ids = calls.map((_, index) => `survey_${turns}_${index + 1}`);
    prompt.push({
      role: 'assistant',
      content: calls.map(({ tool, input }, index) => ({ type: 'tool-call', toolCallId: ids[index] as string, toolName: tool, input })),
    });
    prompt.push({
      role: 'tool',
      content: calls.map(({ tool, input }, index) => {
        const value = answer(tool, input);
        const output = typeof value === 'string' ? { type: 'text' as const, value } : { type: 'error-text' as const, value: value.error };
        return { type: 'tool-result', toolCallId: ids[index] as string, toolName: tool, output };
      }),
    });
  }
}
