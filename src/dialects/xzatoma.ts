// XZatoma: `subagent` nests to two levels, with a filter of tools and a summary as a second prompt; `parallel_subagent` does several at once.
import { z } from 'zod';
import type { ErrorInfo } from '../contract/error.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { ChildReply, ContextLimits, DelegationRequest, Dialect, DialectTool } from '../ports/dialect.ts';
import { readSettings, XzatomaConfig } from './settings.ts';
import { delegateOne, given, type Read, readBrief } from './shared/brief.ts';
import { oneLine } from './shared/one-line.ts';
import { jsonOutputBytes, jsonResult, textWithNotice, totalTokens } from './shared/result.ts';
import { expanded, xzatomaAgents } from './xzatoma/agents.ts';

const defaults = { max_depth: 3, default_max_turns: 10, output_max_size: 4096 };
const mostTurns = 50;
const mostTasks = 50;
const defaultAtOnce = 5;
const delegating = ['subagent', 'parallel_subagent'];
const defaultSummaryPrompt = 'Summarize your findings concisely';

export function xzatoma(config: z.input<typeof XzatomaConfig> = {}): Dialect {
  const { conversation, ...own } = readSettings('xzatoma', XzatomaConfig, config);
  const settings = { ...defaults, ...given(own) };
  return {
    name: 'xzatoma',
    description: 'XZatoma: nested subagents with tool filters, a summary prompt and small outputs, one or several at once',
    tools: [subagent(settings), parallel(settings)],
    setup: {
      endsWithClient: true,
      // The source counts the root as a level.
      limits: { maxDepth: settings.max_depth - 1, maxOutputBytes: jsonOutputBytes },
      agents: xzatomaAgents,
      root: 'xzatoma/main',
      offerAlways: true,
      ...(conversation && { context: contextOf(conversation) }),
    },
  };
}

function contextOf(given: NonNullable<z.infer<typeof XzatomaConfig>['conversation']>): ContextLimits {
  return {
    ...(given.max_tokens !== undefined && { maxTokens: given.max_tokens }),
    ...(given.min_retain_turns !== undefined && { keptTurns: given.min_retain_turns }),
    ...(given.prune_threshold !== undefined && { startAt: given.prune_threshold }),
  };
}

const Task = ({ default_max_turns }: typeof defaults) =>
  z.strictObject({
    label: z.string().describe('A short name of the task, for tracking'),
    task_prompt: z.string().describe('The task for the subagent; it knows nothing of this conversation'),
    summary_prompt: z.string().nullish().describe(`How it is to summarize its work at the end (default: "${defaultSummaryPrompt}")`),
    allowed_tools: z
      .array(z.string())
      .nullish()
      .describe('Only these tools (file_ops, fetch, terminal and names of single tools); left out: all that you have'),
    max_turns: z.int().nullish().describe(`Most turns, 1 to ${mostTurns} (default: ${default_max_turns})`),
  });
type Task = z.infer<ReturnType<typeof Task>>;

const Result = z.strictObject({
  success: z.boolean(),
  output: z.string(),
  error: z.string().nullable(),
  metadata: z.record(z.string(), z.string()),
});
type Result = z.infer<typeof Result>;

function subagent(settings: typeof defaults): DialectTool<Task> {
  return {
    name: 'subagent',
    title: 'Delegate to a subagent',
    description: () =>
      'Delegates a focused task to a subagent with a conversation of its own, and gives back its summary. Use it for research, analysis and ' +
      'exploration whose details you do not need. The subagent has your tools unless allowed_tools names fewer, and can delegate in turn ' +
      `until the depth limit of ${settings.max_depth} levels.`,
    input: Task(settings),
    output: Result,
    readOnly: false,
    destructive: false,
    toRequest: (input) => delegateOne(briefOf(input, settings), null),
    fromReply(reply, request) {
      if (reply.kind !== 'children') return jsonResult(refused(errorIn(reply), null), { isError: true });
      const [child] = reply.children;
      const result = resultOf(child, labelOf(request, 0));
      return jsonResult(result, { isError: !child?.ok, runs: runsOf(reply.children) });
    },
  };
}

const Tasks = (settings: typeof defaults) =>
  z.strictObject({
    tasks: z.array(Task(settings)).describe(`The tasks, 1 to ${mostTasks}, each as for subagent`),
    max_concurrent: z.int().default(defaultAtOnce).describe(`How many are at work at a time, 1 to ${mostTasks}`),
  });

function parallel(settings: typeof defaults): DialectTool<z.infer<ReturnType<typeof Tasks>>> {
  return {
    name: 'parallel_subagent',
    title: 'Delegate to several subagents',
    description: () =>
      'Delegates several independent tasks to subagents that work side by side, and gives back their summaries in the order of the tasks.',
    input: Tasks(settings),
    output: z.strictObject({ results: z.array(Result), error: z.string().optional() }),
    readOnly: false,
    destructive: false,
    toRequest({ tasks, max_concurrent }) {
      if (tasks.length < 1 || tasks.length > mostTasks) return refuse(`tasks: must be 1 to ${mostTasks}`);
      if (max_concurrent < 1 || max_concurrent > mostTasks) return refuse(`max_concurrent: must be from 1 to ${mostTasks}`);
      const read = tasks.map((task, index) => briefOf(task, settings, `tasks[${index}].`));
      const faults = read.flatMap((each) => (each.ok ? [] : [each.message]));
      if (faults.length > 0) return refuse(faults.join('; '));
      return { kind: 'delegate', briefs: read.flatMap((each) => (each.ok ? [each.brief] : [])), waitMs: null, atOnce: max_concurrent };
    },
    fromReply(reply, request) {
      if (reply.kind !== 'children') return jsonResult({ results: [], error: oneLine(errorIn(reply).message) }, { isError: true });
      const results = reply.children.map((child, index) => resultOf(child, labelOf(request, index)));
      return jsonResult({ results }, { isError: reply.children.every((child) => !child.ok), runs: runsOf(reply.children) });
    },
  };
}

function refuse(message: string): DelegationRequest {
  return { kind: 'refuse', message };
}

function briefOf(task: Task, settings: typeof defaults, prefix = ''): Read {
  const wrong = faultOf(task);
  if (wrong !== null) return { ok: false, message: `${prefix}${wrong}` };
  const summaryPrompt = task.summary_prompt?.trim() || defaultSummaryPrompt;
  const fields = {
    task: task.task_prompt,
    label: task.label.trim(),
    agent: 'xzatoma/subagent',
    limits: { maxTurns: task.max_turns ?? settings.default_max_turns },
    result: { prompt: summaryPrompt, maxBytes: settings.output_max_size },
    // Delegation is kept whatever the list says: the depth limit is what ends it.
    ...(task.allowed_tools && { tools: { allow: [...expanded(task.allowed_tools), ...delegating] } }),
  };
  return readBrief(fields, { task: 'task_prompt', result: 'summary_prompt' }, prefix);
}

function faultOf({ label, max_turns, allowed_tools }: Task): string | null {
  if (label.trim() === '') return 'label: must not be empty';
  if (typeof max_turns === 'number' && (max_turns < 1 || max_turns > mostTurns)) return `max_turns: must be from 1 to ${mostTurns}`;
  const own = allowed_tools?.find((name) => delegating.includes(name));
  return own === undefined ? null : `allowed_tools: \`${own}\` cannot be listed; the depth limit decides about it`;
}

function resultOf(child: ChildReply | undefined, label: string | null): Result {
  if (child === undefined) return refused({ code: 'internal', message: 'it was not started', retryable: false }, label);
  if (!child.ok) return refused(child.error, label);
  const { row, outcome } = child.view;
  if (outcome === null) return refused({ code: 'internal', message: `run ${row.runId} is still at work`, retryable: false }, label);
  const success = outcome.success || (outcome.status === 'exhausted' && outcome.summary !== '');
  return { success, output: textWithNotice(outcome), error: success ? null : errorOf(outcome), metadata: metadataOf(outcome) };
}

function metadataOf(outcome: Outcome): Record<string, string> {
  return {
    subagent_label: oneLine(outcome.label ?? ''),
    recursion_depth: String(outcome.depth),
    completion_status: outcome.success ? 'complete' : 'incomplete',
    turns_used: String(outcome.turns),
    max_turns_reached: String(outcome.terminated === 'max_turns'),
    tokens_consumed: String(totalTokens(outcome.tokens)),
  };
}

function errorOf({ error, status }: Outcome): string {
  return error === null ? status : `${error.code}: ${oneLine(error.message)}`;
}

function refused({ code, message }: ErrorInfo, label: string | null): Result {
  const told = oneLine(message);
  const error = code === 'depth' ? `Maximum recursion depth exceeded: ${told}` : code === 'unknown_tool' ? `allowed_tools: ${told}` : told;
  return { success: false, output: '', error, metadata: label === null ? {} : { subagent_label: oneLine(label) } };
}

function errorIn(reply: { kind: string; error?: ErrorInfo }): ErrorInfo {
  return reply.error ?? { code: 'internal', message: 'this reply fits no such call', retryable: false };
}

function labelOf(request: DelegationRequest, index: number): string | null {
  return request.kind === 'delegate' ? (request.briefs[index]?.label ?? null) : null;
}

/** Those whose text is in the result. */
function runsOf(children: ChildReply[]): string[] {
  return children.flatMap((child) => (child.ok && child.view.outcome ? [child.view.row.runId] : []));
}
