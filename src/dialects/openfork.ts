// OpenFork: `task` hands work to a subagent of a type, in the foreground or the background; `task_status` and `task_cancel` follow it.
import { z } from 'zod';
import type { DelegationRequest, Dialect, DialectContext, DialectResult, DialectTool } from '../ports/dialect.ts';
import { about, denial, endParts, launched, refusal, statusOf, stillRunning } from './openfork/texts.ts';
import { agentOf, childRules, openforkAgents, types } from './openfork/types.ts';
import { OpenforkConfig, readSettings } from './settings.ts';
import { delegateOne, readBrief } from './shared/brief.ts';
import { onlyChild } from './shared/result.ts';
import { waitMs } from './shared/wait-time.ts';

const mostTurns = 50;

export function openfork(config: z.input<typeof OpenforkConfig> = {}): Dialect {
  const { max_concurrent = 8, models = {} } = readSettings('openfork', OpenforkConfig, config);
  return {
    name: 'openfork',
    description: 'OpenFork: typed subagents in the foreground or background, with status, cancellation and lifecycle events',
    tools: [task, status, cancel],
    setup: {
      endsWithClient: true,
      limits: { maxDepth: 1, maxConcurrent: max_concurrent },
      agents: openforkAgents(models),
      root: agentOf('main'),
      rules: childRules,
      denial,
      asks: false,
    },
  };
}

const Task = z.strictObject({
  subagent_type: z.enum(types).describe('Type of subagent to spawn'),
  prompt: z.string().describe('Detailed task description for the subagent'),
  description: z.string().describe('Short description (3-5 words) for display'),
  run_in_background: z.boolean().default(false).describe('Run asynchronously without blocking'),
  max_turns: z
    .int()
    .optional()
    .meta({ minimum: 1, maximum: mostTurns })
    .describe(`Maximum agent turns before stopping, up to ${mostTurns} (default: general 20, explore 15, planner 10, researcher 10)`),
});
type Task = z.infer<typeof Task>;

const description = `Launch a specialized subagent to handle a specific task.
The subagent runs in its own session and returns results when complete.

Use this when:
- Task requires specialized capabilities (exploration, planning, research)
- You want to delegate work while continuing other tasks
- The task is well-defined and can be completed independently

Available subagent types:
- general: Open-ended tasks
- explore: Codebase exploration (read-only)
- planner: Task planning (no execution)
- researcher: Web research and documentation

IMPORTANT: Subagents cannot spawn their own subagents.`;

const task: DialectTool<Task> = {
  name: 'task',
  title: 'Launch a subagent',
  description: () => description,
  input: Task,
  readOnly: false,
  destructive: false,
  toRequest,
  fromReply(reply, request) {
    const child = onlyChild(reply);
    if ('error' in child) return refusal(child.error);
    const { outcome } = child.view;
    if (outcome !== null) return { parts: endParts(outcome), isError: !outcome.success };
    const background = request.kind === 'delegate' && request.briefs[0]?.background === true;
    return { parts: [{ text: background ? launched(child.view) : stillRunning(child.view) }], isError: false };
  },
};

function toRequest(input: Task, context: DialectContext): DelegationRequest {
  if (input.description.trim() === '') return { kind: 'refuse', message: 'description: must not be empty' };
  if (input.max_turns !== undefined && input.max_turns < 1) return { kind: 'refuse', message: 'max_turns: must be at least 1' };
  const fields = {
    task: input.prompt,
    label: input.description,
    agent: agentOf(input.subagent_type),
    result: { mode: 'full' as const },
    ...(input.run_in_background && { background: true }),
    ...(input.max_turns !== undefined && { limits: { maxTurns: Math.min(input.max_turns, mostTurns) } }),
  };
  return delegateOne(readBrief(fields, { task: 'prompt', label: 'description' }), input.run_in_background ? 0 : waitMs(undefined, context));
}

const Id = z.string().describe('The ID that the task tool gave');
const Status = z.strictObject({
  id: Id,
  wait: z.boolean().default(false).describe('Wait until the subagent has finished'),
});

const status: DialectTool<z.infer<typeof Status>> = {
  name: 'task_status',
  title: 'Status of a subagent',
  description: () =>
    'Check a subagent that was launched with the task tool: pending, running, completed, failed or cancelled, with its result once it has ' +
    'finished. With wait it answers when the subagent has finished.',
  input: Status,
  readOnly: true,
  toRequest: ({ id, wait }, context) => ({ kind: 'wait', ids: [id], mode: 'all', waitMs: wait ? waitMs(undefined, context) : 0 }),
  fromReply: (reply) => standing(reply),
};

const Cancel = z.strictObject({ id: Id });

const cancel: DialectTool<z.infer<typeof Cancel>> = {
  name: 'task_cancel',
  title: 'Cancel a subagent',
  description: () => 'Cancel a subagent that was launched with the task tool. What it did up to then stays.',
  input: Cancel,
  readOnly: false,
  destructive: true,
  toRequest: ({ id }) => ({ kind: 'cancel', ids: [id], reason: null }),
  fromReply: (reply) => standing(reply),
};

/** The status word, which subagent it is, and what it came to. */
function standing(reply: Parameters<DialectTool['fromReply']>[0]): DialectResult {
  const child = onlyChild(reply);
  if ('error' in child) return refusal(child.error);
  const { row, outcome } = child.view;
  const head = `Status: ${statusOf(child.view).toLowerCase()}\n${about(row)}`;
  if (outcome === null) return { parts: [{ text: head }], isError: false };
  return { parts: [{ text: `${head}\n` }, ...endParts(outcome)], isError: false };
}
