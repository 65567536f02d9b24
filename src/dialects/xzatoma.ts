// XZatoma: `subagent` nests to two levels, filters tools and asks for a summary with a second prompt; `parallel_subagent` runs
// several at the same time. Texts quoted from the source are fixed.
import { z } from 'zod';
import type { ErrorInfo } from '../contract/error.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { ChildReply, ContextLimits, DelegationRequest, Dialect, DialectTool } from '../ports/dialect.ts';
import { parseSettings, XzatomaConfig } from './settings.ts';
import { briefToRequest, omitUndefined, type ParsedBrief, parseDialectBrief } from './shared/brief.ts';
import { toOneLine } from './shared/one-line.ts';
import { createJsonResult, formatSummary, getReplyError, jsonOutputBytes, sumTokens } from './shared/result.ts';
import { expandToolAliases, xzatomaAgents } from './xzatoma/agents.ts';

const defaults = { max_depth: 3, default_max_turns: 10, output_max_size: 4096 };
const maxTurnsLimit = 50;
const maxTasks = 50;
const defaultConcurrency = 5;
const delegationTools = ['subagent', 'parallel_subagent'];
const defaultSummaryPrompt = 'Summarize your findings concisely';

export function xzatoma(config: z.input<typeof XzatomaConfig> = {}): Dialect {
  const { conversation, ...own } = parseSettings('xzatoma', XzatomaConfig, config);
  const settings = { ...defaults, ...omitUndefined(own) };
  return {
    name: 'xzatoma',
    description: 'XZatoma: nested subagents with tool filters, a summary prompt and small outputs, one or several in parallel',
    tools: [createSubagentTool(settings), createParallelTool(settings)],
    setup: {
      endsWithClient: true,
      // The source counts the root as a level.
      limits: { maxDepth: settings.max_depth - 1, maxOutputBytes: jsonOutputBytes(settings.output_max_size) },
      agents: xzatomaAgents,
      root: 'xzatoma/main',
      offerAlways: true,
      refusesMissingTools: true,
      ...(conversation && { context: toContextLimits(conversation) }),
    },
  };
}

function toContextLimits(conversation: NonNullable<z.infer<typeof XzatomaConfig>['conversation']>): ContextLimits {
  return {
    ...(conversation.max_tokens !== undefined && { maxTokens: conversation.max_tokens }),
    ...(conversation.min_retain_turns !== undefined && { keptTurns: conversation.min_retain_turns }),
    ...(conversation.prune_threshold !== undefined && { startAt: conversation.prune_threshold }),
  };
}

const createTask = ({ default_max_turns }: typeof defaults) =>
  z.strictObject({
    label: z.string().describe('A short name of the task for tracking'),
    task_prompt: z.string().describe('The task for the subagent. It does not see this conversation.'),
    summary_prompt: z
      .string()
      .nullish()
      .describe(`How the subagent should summarize its work at the end (default: "${defaultSummaryPrompt}")`),
    allowed_tools: z
      .array(z.string())
      .nullish()
      .describe('Allow only these tools: file_ops, fetch, terminal or names of single tools. Default: all of your tools.'),
    max_turns: z.int().nullish().describe(`Maximum number of turns, 1 to ${maxTurnsLimit} (default: ${default_max_turns})`),
  });
type Task = z.infer<ReturnType<typeof createTask>>;

const Result = z.strictObject({
  success: z.boolean(),
  output: z.string(),
  error: z.string().nullable(),
  metadata: z.record(z.string(), z.string()),
});
type Result = z.infer<typeof Result>;

function createSubagentTool(settings: typeof defaults): DialectTool<Task> {
  return {
    name: 'subagent',
    title: 'Delegate to a subagent',
    description: () =>
      'Delegates a focused task to a subagent with its own conversation and returns its summary. Use it for research, analysis and ' +
      'exploration whose details you do not need. The subagent has your tools unless allowed_tools restricts them, and can itself delegate ' +
      `up to the depth limit of ${settings.max_depth} levels.`,
    input: createTask(settings),
    output: Result,
    readOnly: false,
    destructive: false,
    describeInvalid: (problem) => problem,
    toRequest: (input) => briefToRequest(taskToBrief(input, settings), null),
    fromReply(reply, request, context) {
      if (reply.kind !== 'children') return createJsonResult(createFailure(getReplyError(reply), null), { isError: true });
      const [child] = reply.children;
      const result = createResult(child, getLabel(request, 0));
      return createJsonResult(result, { isError: !child?.ok, runs: listReportedRuns(reply.children), context });
    },
  };
}

const createTasks = (settings: typeof defaults) =>
  z.strictObject({
    tasks: z.array(createTask(settings)).describe(`The tasks, 1 to ${maxTasks}, each with the parameters of subagent`),
    max_concurrent: z.int().default(defaultConcurrency).describe(`How many run at the same time, 1 to ${maxTasks}`),
  });

function createParallelTool(settings: typeof defaults): DialectTool<z.infer<ReturnType<typeof createTasks>>> {
  return {
    name: 'parallel_subagent',
    title: 'Delegate to several subagents',
    description: () =>
      'Delegates several independent tasks to subagents that run in parallel, and returns their summaries in the order of the tasks.',
    input: createTasks(settings),
    output: z.strictObject({ results: z.array(Result), error: z.string().optional() }),
    readOnly: false,
    destructive: false,
    describeInvalid: (problem) => problem,
    toRequest({ tasks, max_concurrent }) {
      if (tasks.length < 1 || tasks.length > maxTasks) return refuse(`tasks: must be 1 to ${maxTasks}`);
      if (max_concurrent < 1 || max_concurrent > maxTasks) return refuse(`max_concurrent: must be from 1 to ${maxTasks}`);
      const parsed = tasks.map((task, index) => taskToBrief(task, settings, `tasks[${index}].`));
      const problems = parsed.flatMap((each) => (each.ok ? [] : [each.message]));
      if (problems.length > 0) return refuse(problems.join('; '));
      return { kind: 'delegate', briefs: parsed.flatMap((each) => (each.ok ? [each.brief] : [])), waitMs: null, atOnce: max_concurrent };
    },
    fromReply(reply, request, context) {
      if (reply.kind !== 'children')
        return createJsonResult({ results: [], error: toOneLine(getReplyError(reply).message) }, { isError: true });
      const results = reply.children.map((child, index) => createResult(child, getLabel(request, index)));
      const isError = reply.children.every((child) => !child.ok);
      return createJsonResult({ results }, { isError, runs: listReportedRuns(reply.children), context });
    },
  };
}

function refuse(message: string): DelegationRequest {
  return { kind: 'refuse', message };
}

function taskToBrief(task: Task, settings: typeof defaults, prefix = ''): ParsedBrief {
  const problem = findProblem(task);
  if (problem !== null) return { ok: false, message: `${prefix}${problem}` };
  const summaryPrompt = task.summary_prompt?.trim() || defaultSummaryPrompt;
  const fields = {
    task: task.task_prompt,
    label: task.label.trim(),
    agent: 'xzatoma/subagent',
    limits: { maxTurns: task.max_turns ?? settings.default_max_turns },
    result: { prompt: summaryPrompt, maxBytes: settings.output_max_size },
    // The delegation tools stay available whatever the list says: the depth limit ends nesting.
    ...(task.allowed_tools && { tools: { allow: [...expandToolAliases(task.allowed_tools), ...delegationTools] } }),
  };
  return parseDialectBrief(fields, { task: 'task_prompt', result: 'summary_prompt' }, prefix);
}

function findProblem({ label, max_turns, allowed_tools }: Task): string | null {
  if (label.trim() === '') return 'label: must not be empty';
  if (typeof max_turns === 'number' && (max_turns < 1 || max_turns > maxTurnsLimit)) return `max_turns: must be from 1 to ${maxTurnsLimit}`;
  const listed = allowed_tools?.find((name) => delegationTools.includes(name));
  return listed === undefined ? null : `allowed_tools: \`${listed}\` cannot be listed; the depth limit controls it`;
}

function createResult(child: ChildReply | undefined, label: string | null): Result {
  if (child === undefined) return createFailure({ code: 'internal', message: 'the subagent was not started', retryable: false }, label);
  if (!child.ok) return createFailure(child.error, label);
  const { row, outcome } = child.view;
  if (outcome === null) return createFailure({ code: 'internal', message: `run ${row.runId} is still running`, retryable: false }, label);
  const success = outcome.success || (outcome.status === 'exhausted' && outcome.summary !== '');
  return {
    success,
    output: formatSummary(outcome),
    error: success ? null : formatOutcomeError(outcome),
    metadata: createMetadata(outcome),
  };
}

function createMetadata(outcome: Outcome): Record<string, string> {
  return {
    subagent_label: toOneLine(outcome.label ?? ''),
    recursion_depth: String(outcome.depth),
    completion_status: outcome.success ? 'complete' : 'incomplete',
    turns_used: String(outcome.turns),
    max_turns_reached: String(outcome.terminated === 'max_turns'),
    tokens_consumed: String(sumTokens(outcome.tokens)),
  };
}

function formatOutcomeError({ error, status }: Outcome): string {
  return error === null ? status : `${error.code}: ${toOneLine(error.message)}`;
}

function createFailure({ code, message }: ErrorInfo, label: string | null): Result {
  const text = toOneLine(message);
  const error = code === 'depth' ? `Maximum recursion depth exceeded: ${text}` : code === 'unknown_tool' ? `allowed_tools: ${text}` : text;
  return { success: false, output: '', error, metadata: label === null ? {} : { subagent_label: toOneLine(label) } };
}

function getLabel(request: DelegationRequest, index: number): string | null {
  return request.kind === 'delegate' ? (request.briefs[index]?.label ?? null) : null;
}

/** The runs whose text is in the result. */
function listReportedRuns(children: ChildReply[]): string[] {
  return children.flatMap((child) => (child.ok && child.view.outcome ? [child.view.row.runId] : []));
}
