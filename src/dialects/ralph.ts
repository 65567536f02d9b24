// Ralph: `subagent` starts a background run in its own process, `subagent_status` returns its state.
// Texts quoted from the source are fixed.
import { z } from 'zod';
import type { ErrorInfo } from '../contract/error.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { RunRow } from '../contract/run.ts';
import type { ChildView } from '../ports/delegation.ts';
import type {
  DelegationReply,
  DelegationRequest,
  Dialect,
  DialectContext,
  DialectResult,
  DialectTool,
  FirstMessage,
} from '../ports/dialect.ts';
import { fitReport, outcomeToExcerpt, pageToExcerpt } from './ralph/excerpt.ts';
import { formatFiles } from './ralph/files.ts';
import { parseSettings, RalphConfig } from './settings.ts';
import { briefToRequest, omitUndefined, parseDialectBrief } from './shared/brief.ts';
import { toOneLine } from './shared/one-line.ts';
import { createJsonResult, getOnlyChild, jsonOutputBytes } from './shared/result.ts';
import { resolveWaitMs } from './shared/wait-time.ts';

/** `max_result_bytes`: the most of a result that enters the parent's context at once. */
const defaults = { max_subagents: 5, subagent_timeout: 300, max_result_bytes: 16_384 };

export function ralph(config: z.input<typeof RalphConfig> = {}): Dialect {
  const settings = { ...defaults, ...omitUndefined(parseSettings('ralph', RalphConfig, config)) };
  return {
    name: 'ralph',
    description: 'Ralph: background subagents, each in its own process, with status polling',
    tools: [createSubagentTool(settings), createStatusTool(settings)],
    setup: {
      endsWithClient: true,
      limits: {
        maxDepth: 1,
        maxConcurrent: settings.max_subagents,
        maxOutputBytes: jsonOutputBytes(settings.max_result_bytes),
      },
      whenFull: 'refuse',
      host: 'process',
      first: formatFirstMessage,
    },
  };
}

const Status = z.enum(['pending', 'running', 'completed', 'failed', 'timeout']);
type Status = z.infer<typeof Status>;

const Task = z.strictObject({
  task: z.string().describe('What the subagent should do. It does not see this conversation.'),
  context: z.string().optional().describe('Background information for the task.'),
});

const Spawned = z.strictObject({
  subagent_id: z.string().nullable(),
  status: Status,
  result: z.string().nullable(),
  error: z.string().optional(),
});

function createSubagentTool({ max_subagents, subagent_timeout, max_result_bytes }: typeof defaults): DialectTool<z.infer<typeof Task>> {
  const formatRefusal = ({ code, message }: ErrorInfo, { maxConcurrent }: DialectContext) => {
    if (code === 'parent_full')
      return `Too many subagents: ${maxConcurrent ?? max_subagents} are running (max_subagents); wait for one to end`;
    if (code === 'depth') return `Subagents cannot spawn subagents: ${toOneLine(message)}`;
    return toOneLine(message);
  };
  return {
    name: 'subagent',
    title: 'Start a subagent',
    description: ({ maxConcurrent, maxChildMs }) =>
      'Starts a subagent in the background for an independent task. It has its own process and a fresh context. Returns a subagent_id ' +
      `immediately; get the result with subagent_status. At most ${maxConcurrent ?? max_subagents} run at the same time, each for at most ` +
      `${Math.min(subagent_timeout, (maxChildMs ?? Number.POSITIVE_INFINITY) / 1000)} seconds. Subagents cannot start subagents.`,
    input: Task,
    output: Spawned,
    readOnly: false,
    destructive: false,
    describeInvalid: (problem) => problem,
    toRequest({ task, context }) {
      const limits = { timeoutMs: subagent_timeout * 1000 };
      const fields = {
        task,
        ...omitUndefined({ context }),
        agent: 'general',
        background: true,
        limits,
        result: { maxBytes: max_result_bytes },
      };
      return briefToRequest(parseDialectBrief(fields, {}), 0);
    },
    fromReply(reply, _, context) {
      const child = getOnlyChild(reply);
      if ('error' in child) {
        return createJsonResult(
          { subagent_id: null, status: 'failed', result: null, error: formatRefusal(child.error, context) },
          { isError: true },
        );
      }
      const { row, outcome } = child.view;
      const status = viewToStatus(child.view);
      const report = fitReport(outcome && outcomeToExcerpt(outcome), (result) => ({ subagent_id: row.runId, status, result }), context);
      return createJsonResult(report, { runs: report.result === null ? [] : [row.runId] });
    },
  };
}

const Query = z.strictObject({
  subagent_id: z.string().describe('The id that the subagent tool returned.'),
  wait: z.boolean().default(false).describe('Wait until the subagent has ended instead of returning its current state.'),
});

const Report = z.strictObject({
  subagent_id: z.string(),
  status: Status,
  progress: z.string().nullable(),
  result: z.string().nullable(),
  error: z.string().nullable(),
});

/** The id of a run, and the character at which reading its result continues. */
const position = /^([^@]+)@(\d{1,9})$/;

function createStatusTool({ max_result_bytes }: typeof defaults): DialectTool<z.infer<typeof Query>> {
  return {
    name: 'subagent_status',
    title: 'Status of a subagent',
    description: () =>
      'Returns the status of a subagent: pending, running, completed, failed or timeout. Includes its progress while it runs, and its result ' +
      'or error once it has ended. With wait it returns when the subagent has ended.',
    input: Query,
    output: Report,
    readOnly: true,
    polls: true,
    describeInvalid: (problem) => problem,
    toRequest({ subagent_id, wait }, context) {
      const [, id, offset] = position.exec(subagent_id) ?? [];
      if (id !== undefined) return { kind: 'read', id, part: 'summary', offset: Number(offset), limit: max_result_bytes };
      return { kind: 'wait', ids: [subagent_id], mode: 'all', waitMs: wait ? resolveWaitMs(undefined, context) : 0 };
    },
    fromReply: (reply, request, context) => createReport(reply, { request, context, maxBytes: max_result_bytes }),
  };
}

interface ReportOptions {
  request: DelegationRequest;
  context: DialectContext;
  maxBytes: number;
}

function createReport(reply: DelegationReply, { request, context, maxBytes }: ReportOptions): DialectResult {
  const page = reply.kind === 'page' ? reply : null;
  const child = page?.view ? { view: page.view } : getOnlyChild(reply);
  if ('error' in child) {
    const requestedId = request.kind === 'wait' ? (request.ids?.[0] ?? '') : request.kind === 'read' ? request.id : '';
    const error = child.error.code === 'unknown_run' ? 'Subagent not found' : toOneLine(child.error.message);
    return createJsonResult({ subagent_id: requestedId, status: 'failed', progress: null, result: null, error }, { isError: true });
  }
  const { row, outcome } = child.view;
  const excerpt = outcome && (page ? pageToExcerpt(row.runId, page.page, maxBytes) : outcomeToExcerpt(outcome));
  const state = { subagent_id: row.runId, status: viewToStatus(child.view), progress: outcome ? null : formatProgress(row) };
  const error = outcome && formatOutcomeError(outcome);
  const report = fitReport(excerpt, (result) => ({ ...state, result, error }), context);
  return createJsonResult(report, { runs: report.result === null ? [] : [row.runId] });
}

function viewToStatus({ row, outcome }: ChildView): Status {
  if (outcome === null) return row.status === 'queued' ? 'pending' : 'running';
  if (outcome.status === 'timed_out') return 'timeout';
  return outcome.status === 'completed' ? 'completed' : 'failed';
}

/** One line: the current turn and what the subagent does in it. */
function formatProgress({ status, turns, activity }: RunRow): string {
  if (status === 'queued') return 'not started yet';
  if (activity === null) return `turn ${Math.max(1, turns)}`;
  return activity === 'model' ? `turn ${turns + 1}: thinking` : `turn ${Math.max(1, turns)}: tool ${toOneLine(activity, 100)}`;
}

function formatOutcomeError({ status, error }: Outcome): string | null {
  if (error === null) return null;
  if (status === 'timed_out') return 'Subagent timed out';
  if (status === 'cancelled') return 'cancelled';
  const isProcess = ['crashed', 'no_result', 'invalid_reply'].includes(error.code);
  return `Subagent process failed: ${isProcess ? '' : `${error.code}: `}${toOneLine(error.message)}`;
}

function formatFirstMessage({ task, context, files, memories }: FirstMessage): string {
  const message = context === null ? task : `Context: ${context}\n\nTask: ${task}`;
  return message + formatFiles({ files, memories });
}
