// Ralph: `subagent` starts a background run in a process of its own, `subagent_status` asks how it stands.
import { z } from 'zod';
import type { ErrorInfo } from '../contract/error.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { RunRow } from '../contract/run.ts';
import type { ChildView } from '../ports/delegation.ts';
import type { Dialect, DialectTool, FirstMessage } from '../ports/dialect.ts';
import { filesText } from './ralph/files.ts';
import { RalphConfig, readSettings } from './settings.ts';
import { delegateOne, given, readBrief } from './shared/brief.ts';
import { oneLine } from './shared/one-line.ts';
import { jsonOutputBytes, jsonResult, onlyChild, textWithNotice } from './shared/result.ts';
import { waitMs } from './shared/wait-time.ts';

const defaults = { max_subagents: 5, subagent_timeout: 300 };
/** As much of a result as goes into its parent's context. */
const resultBytes = 16_384;

export function ralph(config: z.input<typeof RalphConfig> = {}): Dialect {
  const settings = { ...defaults, ...given(readSettings('ralph', RalphConfig, config)) };
  return {
    name: 'ralph',
    description: 'Ralph: subagents in the background, each in a process of its own, and polling of their status',
    tools: [subagent(settings), status],
    setup: {
      endsWithClient: true,
      limits: { maxDepth: 1, maxConcurrent: settings.max_subagents, maxOutputBytes: jsonOutputBytes },
      whenFull: 'refuse',
      host: 'process',
      first: firstMessage,
    },
  };
}

const Status = z.enum(['pending', 'running', 'completed', 'failed', 'timeout']);
type Status = z.infer<typeof Status>;

const Task = z.strictObject({
  task: z.string().describe('What the subagent is to do. It knows nothing of this conversation.'),
  context: z.string().optional().describe('What it should know besides the task.'),
});

const Spawned = z.strictObject({
  subagent_id: z.string().nullable(),
  status: Status,
  result: z.string().nullable(),
  error: z.string().optional(),
});

function subagent({ max_subagents, subagent_timeout }: typeof defaults): DialectTool<z.infer<typeof Task>> {
  const refused = ({ code, message }: ErrorInfo) => {
    if (code === 'parent_full') return `Too many subagents: ${max_subagents} are running (max_subagents); wait for one to end`;
    if (code === 'depth') return `Subagents cannot spawn subagents: ${oneLine(message)}`;
    return oneLine(message);
  };
  return {
    name: 'subagent',
    title: 'Start a subagent',
    description: () =>
      'Starts a subagent in the background, in a process and with a context of its own, for a task that stands on its own. It answers at ' +
      `once with a subagent_id; ask for the result with subagent_status. At most ${max_subagents} run at a time, each for at most ` +
      `${subagent_timeout} seconds. Subagents cannot start subagents.`,
    input: Task,
    output: Spawned,
    readOnly: false,
    destructive: false,
    toRequest({ task, context }) {
      const limits = { timeoutMs: subagent_timeout * 1000 };
      const fields = { task, ...given({ context }), agent: 'general', background: true, limits, result: { maxBytes: resultBytes } };
      return delegateOne(readBrief(fields, {}), 0);
    },
    fromReply(reply) {
      const child = onlyChild(reply);
      if ('error' in child) {
        return jsonResult({ subagent_id: null, status: 'failed', result: null, error: refused(child.error) }, { isError: true });
      }
      const { row, outcome } = child.view;
      const result = outcome && resultOf(outcome);
      return jsonResult({ subagent_id: row.runId, status: statusOf(child.view), result }, { runs: result === null ? [] : [row.runId] });
    },
  };
}

const Query = z.strictObject({
  subagent_id: z.string().describe('The id that subagent gave.'),
  wait: z.boolean().default(false).describe('Wait until it has ended, instead of saying how it stands now.'),
});

const Report = z.strictObject({
  subagent_id: z.string(),
  status: Status,
  progress: z.string().nullable(),
  result: z.string().nullable(),
  error: z.string().nullable(),
});

const status: DialectTool<z.infer<typeof Query>> = {
  name: 'subagent_status',
  title: 'Status of a subagent',
  description: () =>
    'Says how a subagent stands: pending, running, completed, failed or timeout; what it is at while it runs, and its result or error once ' +
    'it has ended. With wait it answers when the subagent has ended.',
  input: Query,
  output: Report,
  readOnly: true,
  toRequest: ({ subagent_id, wait }, context) => ({
    kind: 'wait',
    ids: [subagent_id],
    mode: 'all',
    waitMs: wait ? waitMs(undefined, context) : 0,
  }),
  fromReply(reply, request) {
    const child = onlyChild(reply);
    if ('error' in child) {
      const asked = request.kind === 'wait' ? (request.ids?.[0] ?? '') : '';
      const error = child.error.code === 'unknown_run' ? 'Subagent not found' : oneLine(child.error.message);
      return jsonResult({ subagent_id: asked, status: 'failed', progress: null, result: null, error }, { isError: true });
    }
    const { row, outcome } = child.view;
    const result = outcome && resultOf(outcome);
    const told = {
      subagent_id: row.runId,
      status: statusOf(child.view),
      progress: outcome ? null : progressOf(row),
      result,
      error: outcome && errorOf(outcome),
    };
    return jsonResult(told, { runs: result === null ? [] : [row.runId] });
  },
};

function statusOf({ row, outcome }: ChildView): Status {
  if (outcome === null) return row.status === 'queued' ? 'pending' : 'running';
  if (outcome.status === 'timed_out') return 'timeout';
  return outcome.status === 'completed' ? 'completed' : 'failed';
}

/** One live line: the turn it is in, and what it does there. */
function progressOf({ status, turns, activity }: RunRow): string {
  if (status === 'queued') return 'not started yet';
  if (activity === null) return `turn ${Math.max(1, turns)}`;
  return activity === 'model' ? `turn ${turns + 1}: thinking` : `turn ${Math.max(1, turns)}: tool ${oneLine(activity, 100)}`;
}

/** What there is of the work is kept, whatever ended it. */
function resultOf(outcome: Outcome): string | null {
  return outcome.summary === '' ? null : textWithNotice(outcome);
}

function errorOf({ status, error }: Outcome): string | null {
  if (error === null) return null;
  if (status === 'timed_out') return 'Subagent timed out';
  if (status === 'cancelled') return 'cancelled';
  if (['crashed', 'no_result', 'invalid_reply'].includes(error.code)) return `Subagent process failed: ${oneLine(error.message)}`;
  return `${error.code}: ${oneLine(error.message)}`;
}

function firstMessage({ task, context, files, memories }: FirstMessage): string {
  const message = context === null ? task : `Context: ${context}\n\nTask: ${task}`;
  return message + filesText({ files, memories });
}
