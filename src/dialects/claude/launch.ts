// The tool `Agent`, which is also offered under its former name `Task`.
import { z } from 'zod';
import type { ErrorInfo } from '../../contract/error.ts';
import type { Outcome } from '../../contract/outcome.ts';
import type { ChildView } from '../../ports/delegation.ts';
import type { DelegationRequest, DialectContext, DialectResult, DialectTool } from '../../ports/dialect.ts';
import { briefToRequest, omitUndefined, parseDialectBrief } from '../shared/brief.ts';
import { toOneLine } from '../shared/one-line.ts';
import { formatSummary, getOnlyChild, sumTokens } from '../shared/result.ts';
import { resolveWaitMs } from '../shared/wait-time.ts';
import { agentToType, defaultType, describeTypes, listTypes, typeToAgent } from './agents.ts';
import { createError, formatLaunched, formatReport, formatTrailer, tooDeep } from './texts.ts';

export interface ClaudeSettings {
  max_concurrent_subagents: number;
  max_depth: number;
  /** What the short names of models mean here. */
  models: { [name in (typeof shortNames)[number]]?: string | undefined };
}

const shortNames = ['sonnet', 'opus', 'haiku', 'fable'] as const;
const efforts = ['low', 'medium', 'high', 'xhigh', 'max'] as const;
/** Marks a brief whose short name of a model means nothing here, so that the result can say so. */
const unmappedTag = 'claude.model=';

const Input = z.strictObject({
  description: z.string().describe('What the agent does, in 3 to 5 words.'),
  prompt: z.string().describe('The task. The agent knows nothing but this text.'),
  subagent_type: z.string().optional().describe(`The type of the agent. Default: ${defaultType}.`),
  model: z
    .string()
    .optional()
    .describe(`The model: ${shortNames.join(', ')}, or provider/model. Default: that of the type, or yours.`),
  effort: z.enum(efforts).optional().describe('How much the agent thinks. Set it only if you were asked to.'),
  run_in_background: z
    .boolean()
    .optional()
    .describe('Default: true. With false the call returns when the agent has ended; use that if your next step needs the result.'),
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'must consist of letters, digits, - _ and .')
    .optional()
    .describe('A name of the agent for SendMessage and TaskStop.'),
  isolation: z
    .literal('worktree')
    .optional()
    .describe('worktree: the agent works on its own copy of the files; delegate_apply takes its changes over.'),
});
type Input = z.infer<typeof Input>;

const Output = z.strictObject({
  status: z.enum(['completed', 'async_launched']),
  agentId: z.string(),
  agentType: z.string().optional(),
  isAsync: z.literal(true).optional(),
  description: z.string().optional(),
  prompt: z.string(),
  content: z.array(z.strictObject({ type: z.literal('text'), text: z.string() })).optional(),
  resolvedModel: z.string().optional(),
  totalDurationMs: z.number().optional(),
  totalTokens: z.number().optional(),
  usage: z.strictObject({ input_tokens: z.number(), output_tokens: z.number(), cache_read_input_tokens: z.number() }).optional(),
});

export function createLaunchTools(settings: ClaudeSettings): DialectTool<Input>[] {
  const agent: DialectTool<Input> = {
    name: 'Agent',
    title: 'Launch an agent',
    description: ({ agents, door }) =>
      'Launches an agent for a task of several steps. It starts with a fresh context and knows only your prompt, so write down the goal, what ' +
      'you know already, and the files that matter. Launch several in one answer if their work is independent. ' +
      `${door === 'model' ? 'An agent works in the background unless you say otherwise, and you get its report when it ends.' : 'An agent works in the background unless you say otherwise; TaskOutput returns its report.'} ` +
      `SendMessage continues an agent with its whole context.\n\nTypes of agents:\n${describeTypes(agents)}`,
    input: Input,
    output: Output,
    readOnly: false,
    destructive: false,
    toRequest: (input, context) => toRequest(input, settings, context),
    fromReply(reply, request, context) {
      const child = getOnlyChild(reply);
      if ('error' in child) return createError(formatRefusal(child.error, request, settings, context));
      return formatView(child.view, request, context);
    },
  };
  const description = () => 'The former name of the Agent tool, with the same parameters and results. Prefer Agent.';
  return [agent, { ...agent, name: 'Task', title: 'Launch an agent', description }];
}

function toRequest(input: Input, { models }: ClaudeSettings, context: DialectContext): DelegationRequest {
  const { description, prompt, subagent_type = defaultType, model: given, effort, run_in_background = true, name, isolation } = input;
  if (description.trim() === '') return { kind: 'refuse', message: 'description: must not be empty' };
  if (subagent_type === 'fork')
    return { kind: 'refuse', message: 'subagent_type: an agent cannot start with your conversation; write what it must know in prompt' };
  const short = shortNames.find((each) => each === given);
  if (given !== undefined && short === undefined && !given.includes('/'))
    return { kind: 'refuse', message: `model: use ${shortNames.join(', ')} or provider/model` };
  const model = short === undefined ? given : models[short];
  const fields = {
    task: prompt,
    label: name ?? description,
    agent: typeToAgent(subagent_type.trim() || defaultType),
    ...omitUndefined({ model, effort, isolation }),
    ...(run_in_background && { background: true }),
    ...(short !== undefined && model === undefined && { tags: [`${unmappedTag}${short}`] }),
  };
  return briefToRequest(
    parseDialectBrief(fields, { task: 'prompt', label: 'description', agent: 'subagent_type' }),
    run_in_background ? 0 : resolveWaitMs(undefined, context),
  );
}

function formatView(view: ChildView, request: DelegationRequest, { door }: DialectContext): DialectResult {
  const brief = request.kind === 'delegate' ? request.briefs[0] : undefined;
  const unmapped = brief?.tags?.find((tag) => tag.startsWith(unmappedTag))?.slice(unmappedTag.length);
  const notice =
    unmapped === undefined ? [] : [{ text: `Note: dialects.claude.models.${unmapped} is not set, so the agent has the default model.` }];
  const prompt = brief?.task ?? '';
  const { row, outcome } = view;
  if (outcome === null) {
    const text = formatLaunched(view, door, brief?.background === true);
    const launched = { status: 'async_launched', isAsync: true, agentId: row.runId, description: row.label ?? '', prompt };
    return { parts: [{ text }, ...notice], isError: false, structured: launched, besideText: true };
  }
  const parts = [...formatReport(outcome), ...notice, { text: formatTrailer(outcome) }];
  if (!outcome.success) return { parts, isError: true };
  return { parts, isError: false, structured: { ...toAgentOutput(outcome, row.model), prompt }, besideText: true };
}

function toAgentOutput(outcome: Outcome, model: string | null) {
  const { input, output, cached } = outcome.tokens;
  return {
    status: 'completed' as const,
    agentId: outcome.runId,
    agentType: agentToType(outcome.agent),
    content: [{ type: 'text' as const, text: formatSummary(outcome) }],
    ...(model !== null && { resolvedModel: model }),
    totalDurationMs: outcome.durationMs,
    totalTokens: sumTokens(outcome.tokens),
    usage: { input_tokens: input, output_tokens: output, cache_read_input_tokens: cached },
  };
}

function formatRefusal(
  { code, message }: ErrorInfo,
  request: DelegationRequest,
  settings: ClaudeSettings,
  { agents, maxConcurrent }: DialectContext,
): string {
  if (code === 'depth') return tooDeep;
  if (code === 'parent_full')
    return `${maxConcurrent ?? settings.max_concurrent_subagents} agents are running, and more are not allowed at the same time (max_concurrent_subagents). Do not retry; wait until one ends.`;
  const text = toOneLine(message);
  if (code !== 'unknown_agent') return code === 'unknown_model' ? `model: ${text}` : text;
  const type = request.kind === 'delegate' ? (request.briefs[0]?.agent ?? '') : '';
  const known = listTypes(agents).map(({ name }) => name);
  return `subagent_type: there is no agent type ${JSON.stringify(toOneLine(type, 100))}; available: ${known.join(', ')}`;
}
