// The tools for agents that were launched earlier: read the report, stop, send a message.
import { z } from 'zod';
import type { DelegationRequest, DialectTool, ResultPart } from '../../ports/dialect.ts';
import { toOneLine } from '../shared/one-line.ts';
import { createJsonResult, getOnlyChild } from '../shared/result.ts';
import { limitWaitMs } from '../shared/wait-time.ts';
import { createError, formatNotFound, formatReport, viewToStatus } from './texts.ts';

const taskType = 'local_agent';
const maxTimeoutMs = 600_000;
const defaultTimeoutMs = 30_000;

const Read = z.strictObject({
  task_id: z.string().describe('The agentId, or the name, of the agent.'),
  block: z.boolean().default(true).describe('Wait until the agent has ended.'),
  timeout: z.number().min(0).max(maxTimeoutMs).default(defaultTimeoutMs).describe('How long to wait at most, in milliseconds.'),
});

/** As in Claude Code 2.1.250; later versions do not have it. */
const outputTool: DialectTool<z.infer<typeof Read>> = {
  name: 'TaskOutput',
  title: 'Report of an agent',
  description: ({ door }) =>
    'Returns the status of an agent and, once it has ended, its report. With block it waits for the end.' +
    (door === 'model' ? ' You do not need it: you get the report of every agent when it ends.' : ''),
  input: Read,
  readOnly: true,
  polls: true,
  toRequest: ({ task_id, block, timeout }, context) => ({
    kind: 'wait',
    ids: [task_id],
    mode: 'all',
    waitMs: block ? limitWaitMs(Math.round(timeout), context) : 0,
    newest: true,
  }),
  fromReply(reply, request) {
    const asked = request.kind === 'wait' ? (request.ids?.[0] ?? '') : '';
    const child = getOnlyChild(reply);
    if ('error' in child) return createError(formatNotFound(child.error, asked));
    const { outcome } = child.view;
    const retrieval = outcome !== null ? 'success' : request.kind === 'wait' && request.waitMs === 0 ? 'not_ready' : 'timeout';
    const tags: [string, string][] = [
      ['retrieval_status', retrieval],
      ['task_id', toOneLine(asked, 100)],
      ['task_type', taskType],
      ['status', viewToStatus(child.view)],
    ];
    const head = tags.map(([tag, text]) => `<${tag}>${text}</${tag}>`).join('\n\n');
    const report: ResultPart[] = outcome === null ? [] : [{ text: '\n<output>' }, ...formatReport(outcome), { text: '</output>' }];
    return { parts: [{ text: head }, ...report], isError: false };
  },
};

const Stop = z.strictObject({
  task_id: z.string().optional().describe('The agentId, or the name, of the agent to stop.'),
  shell_id: z.string().optional().describe('Former name of task_id.'),
});
const Stopped = z.strictObject({ message: z.string(), task_id: z.string(), task_type: z.string(), command: z.string().optional() });

const stopTool: DialectTool<z.infer<typeof Stop>> = {
  name: 'TaskStop',
  title: 'Stop an agent',
  description: () => 'Stops an agent and everything that it launched. Changes that it made are kept.',
  input: Stop,
  output: Stopped,
  readOnly: false,
  destructive: true,
  toRequest({ task_id, shell_id }): DelegationRequest {
    const id = task_id ?? shell_id;
    if (id === undefined) return { kind: 'refuse', message: 'task_id: is missing' };
    return { kind: 'cancel', ids: [id], reason: 'stopped by the agent that launched it', newest: true };
  },
  fromReply(reply, request) {
    const asked = request.kind === 'cancel' ? (request.ids[0] ?? '') : '';
    const child = getOnlyChild(reply);
    if ('error' in child) return createError(formatNotFound(child.error, asked));
    const { row, outcome } = child.view;
    const before = (reply.kind === 'children' ? reply.before?.[0] : null) ?? child.view;
    // An agent that had ended or ended meanwhile: its report must not be lost.
    if (outcome && (before.outcome !== null || outcome.status !== 'cancelled')) {
      const text = `Agent ${row.runId} is not running (status: ${viewToStatus(child.view)})`;
      return { parts: [{ text }, ...formatReport(outcome)], isError: true };
    }
    const label = row.label ?? '';
    const message = `Stopped agent ${row.runId}${label === '' ? '' : ` (${label})`}`;
    return createJsonResult({ message, task_id: asked, task_type: taskType, ...(label !== '' && { command: label }) });
  },
};

const Send = z.strictObject({
  to: z.string().max(300).describe('The name or the agentId of the agent.'),
  message: z.string().describe('The text of the message.'),
  summary: z.string().max(200).optional().describe('The message in 5 to 10 words, for the log. The agent does not get it.'),
});
const Sent = z.strictObject({ success: z.boolean(), message: z.string() });

const sendTool: DialectTool<z.infer<typeof Send>> = {
  name: 'SendMessage',
  title: 'Send a message to an agent',
  description: () =>
    'Sends a message to an agent that you launched. A running agent reads it after its current step. An agent that has ended starts again with ' +
    'the message and keeps its whole context; use its name or its first agentId as before.',
  input: Send,
  output: Sent,
  readOnly: false,
  repeatable: false,
  toRequest({ to, message }): DelegationRequest {
    if (message.trim() === '') return { kind: 'refuse', message: 'message: must not be empty' };
    return { kind: 'message', id: to, text: message, newest: true };
  },
  fromReply(reply, request, { door }) {
    const child = getOnlyChild(reply);
    const asked = request.kind === 'message' ? request.id : '';
    if ('error' in child) return createJsonResult({ success: false, message: formatNotFound(child.error, asked) }, { isError: true });
    const isNew = reply.kind === 'children' && reply.isFollowUp === true;
    const later = door === 'model' ? 'You get its report when it ends.' : 'Read its report with TaskOutput.';
    const message = isNew
      ? `The agent had ended. It starts again with the message. ${later}`
      : 'The agent reads the message after its current step.';
    return createJsonResult({ success: true, message });
  },
};

export const followUpTools = [outputTool, stopTool, sendTool];
