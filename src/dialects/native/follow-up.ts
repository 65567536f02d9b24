// The tools for runs that were delegated earlier: wait, message, read, cancel.
import { z } from 'zod';
import type { ChildReply, DelegationRequest, DialectResult, DialectTool } from '../../ports/dialect.ts';
import { resolveWaitMs } from '../shared/wait-time.ts';
import inputSchemas from './input-schemas.json' with { type: 'json' };
import { createRefusal, formatApplied, formatNamedRuns } from './render.ts';
import { WaitSeconds } from './wait-seconds.ts';

const Id = z.string().min(1).max(100);
const Ids = z.array(Id).max(1000);

const defaultPageChars = 5_000;

const Wait = z.strictObject({
  ids: Ids.optional().describe('The runs to wait for. Default: all unfinished runs.'),
  mode: z.enum(['all', 'any']).optional().describe('Wait until all of them have finished (default) or any one has.'),
  seconds: WaitSeconds.optional().describe('The maximum time to wait. 0 only shows the current state.'),
});

const wait: DialectTool<z.infer<typeof Wait>> = {
  name: 'delegate_wait',
  description: () =>
    'Waits for delegated runs without using tokens. Returns the results of finished runs and the state of the others. ' +
    'With seconds 0 it only shows the current state. Do not poll: one call can wait until the runs have finished.',
  get input() {
    return Wait;
  },
  inputSchema: inputSchemas.delegate_wait,
  readOnly: true,
  polls: true,
  toRequest: (input, context) => ({
    kind: 'wait',
    ids: input.ids?.length ? input.ids : null,
    mode: input.mode ?? 'all',
    waitMs: resolveWaitMs(input.seconds, context),
  }),
  fromReply(reply) {
    if (reply.kind !== 'children') return createRefusal(reply, 'ids');
    if (reply.children.length === 0) return { parts: [{ text: 'No delegated run is open.' }], isError: false };
    return formatNamedRuns(reply.children, 'ids');
  },
};

const Message = z.strictObject({
  id: Id.describe('The run.'),
  text: z.string().min(1).max(65_536).describe('The message.'),
});

const message: DialectTool<z.infer<typeof Message>> = {
  name: 'delegate_message',
  description: () =>
    'Sends a message to a delegated run. An active run reads it at its next turn, and a paused run continues with it. ' +
    'For a finished run it starts a follow-up run that keeps the whole conversation.',
  get input() {
    return Message;
  },
  inputSchema: inputSchemas.delegate_message,
  readOnly: false,
  repeatable: false,
  toRequest: (input) => ({ kind: 'message', id: input.id, text: input.text }),
  fromReply(reply, request) {
    if (reply.kind !== 'children') return createRefusal(reply, 'id');
    const result = formatNamedRuns(reply.children, 'id');
    const [child] = reply.children;
    if (child?.ok) result.parts.push({ text: formatDelivery(child, request) });
    return result;
  },
};

function formatDelivery({ view }: ChildReply & { ok: true }, request: DelegationRequest): string {
  const { runId } = view.row;
  if (request.kind === 'message' && !runId.startsWith(request.id)) {
    return `Run ${request.id} had finished; run ${runId} continues its conversation. Use delegate_wait to wait for it.`;
  }
  return 'The message was delivered. The run reads it at its next turn.';
}

const Read = z.strictObject({
  id: Id.describe('The run.'),
  part: z
    .enum(['summary', 'diff', 'log', 'artifact'])
    .describe('summary: its whole report; diff: its changes; log: what it did, step by step; artifact: what it produced.'),
  offset: z.int().min(0).optional().describe('The first character to read. Default: 0.'),
  limit: z.int().min(1).max(16_000).optional().describe(`The number of characters to read. Default: ${defaultPageChars}.`),
});

const read: DialectTool<z.infer<typeof Read>> = {
  name: 'delegate_read',
  description: () => 'Reads, page by page, what did not fit into the result of a delegated run.',
  get input() {
    return Read;
  },
  inputSchema: inputSchemas.delegate_read,
  readOnly: true,
  toRequest: ({ id, part, offset = 0, limit = defaultPageChars }) => ({ kind: 'read', id, part, offset, limit }),
  fromReply(reply, request) {
    if (reply.kind !== 'page' || request.kind !== 'read') return createRefusal(reply, 'id');
    const { text, offset, total } = reply.page;
    const end = offset + text.length;
    const parts: DialectResult['parts'] = [{ text: `[run ${reply.id} · ${request.part} · characters ${offset} to ${end} of ${total}]` }];
    if (text !== '') parts.push({ text, run: reply.id });
    if (end < total) parts.push({ text: `There is more. Continue with offset ${end}.` });
    return { parts, isError: false };
  },
};

const Cancel = z.strictObject({
  ids: Ids.min(1).describe('The runs to stop.'),
  reason: z.string().max(2000).optional().describe('The reason. It is recorded with the run.'),
});

const cancel: DialectTool<z.infer<typeof Cancel>> = {
  name: 'delegate_cancel',
  description: () => 'Stops delegated runs and every run that they delegated. Changes that they made are kept.',
  get input() {
    return Cancel;
  },
  inputSchema: inputSchemas.delegate_cancel,
  readOnly: false,
  toRequest: (input) => ({ kind: 'cancel', ids: input.ids, reason: input.reason ?? null }),
  fromReply: (reply) => (reply.kind === 'children' ? formatNamedRuns(reply.children, 'ids') : createRefusal(reply, 'ids')),
};

const Apply = z.strictObject({
  ids: Ids.min(1).describe('The runs, in the order in which their changes are merged.'),
  check: z.boolean().optional().describe('Only say what would happen.'),
});

export const applyTool: DialectTool<z.infer<typeof Apply>> = {
  name: 'delegate_apply',
  description: () =>
    'Merges what finished runs changed in their own copy of the files (isolation worktree) into your files. ' +
    'A change that does not fit leaves out that run alone, and the paths are named.',
  get input() {
    return Apply;
  },
  inputSchema: inputSchemas.delegate_apply,
  readOnly: false,
  toRequest: (input) => ({ kind: 'apply', ids: input.ids, check: input.check ?? false }),
  fromReply: (reply, request) => (reply.kind === 'applied' ? formatApplied(reply, request) : createRefusal(reply, 'ids')),
};

export const followUpTools = [wait, message, read, cancel, applyTool];
