import { z } from 'zod';
import type { ChildReply, DelegationReply, DelegationRequest, DialectResult, DialectTool } from '../../ports/dialect.ts';
import { seconds, waitMs } from '../shared/wait-time.ts';
import { childrenResult, refusal } from './render.ts';

/** The tools for runs that were delegated before. */

const id = z.string().min(1).max(100);
const ids = z.array(id).max(1000);

const pageChars = 5_000;

const Wait = z.strictObject({
  ids: ids.optional().describe('Which runs. Left out: all that are not done.'),
  mode: z.enum(['all', 'any']).optional().describe('Wait until all of them are done (default) or any one is.'),
  seconds: seconds.optional().describe('How long to wait at most. 0: only show how they stand.'),
});

const wait: DialectTool<z.infer<typeof Wait>> = {
  name: 'delegate_wait',
  description: () =>
    'Waits for delegated runs without using tokens, and gives the results of those that are done and the state of the others. ' +
    'With seconds 0 it only lists how they stand. Calling it again and again is never needed: it can wait.',
  input: Wait,
  readOnly: true,
  toRequest: (input, context) => ({
    kind: 'wait',
    ids: input.ids?.length ? input.ids : null,
    mode: input.mode ?? 'all',
    waitMs: waitMs(input.seconds, context),
  }),
  fromReply(reply) {
    if (reply.kind !== 'children') return refusal(reply);
    if (reply.children.length === 0) return { parts: [{ text: 'No delegated run is open.' }], isError: false };
    return childrenResult(reply.children, askedFor);
  },
};

const Message = z.strictObject({ id: id.describe('The run.'), text: z.string().min(1).max(65_536).describe('What to tell it.') });

const message: DialectTool<z.infer<typeof Message>> = {
  name: 'delegate_message',
  description: () =>
    'Tells a delegated run something: one at work hears it at its next turn, a paused one goes on with it, and one that is done ' +
    'takes it as a follow-up in a new run that still knows all it did.',
  input: Message,
  readOnly: false,
  repeatable: false,
  toRequest: (input) => ({ kind: 'message', id: input.id, text: input.text }),
  fromReply(reply, request) {
    if (reply.kind !== 'children') return refusal(reply);
    const result = childrenResult(reply.children, askedFor);
    const [child] = reply.children;
    if (child?.ok) result.parts.push({ text: passedOn(child, request) });
    return result;
  },
};

function passedOn({ view }: ChildReply & { ok: true }, request: DelegationRequest): string {
  const { runId } = view.row;
  if (request.kind === 'message' && !runId.startsWith(request.id)) {
    return `Run ${request.id} was done; run ${runId} goes on with its conversation. delegate_wait waits for it.`;
  }
  return 'The message was passed on; the run hears it at its next turn.';
}

const Read = z.strictObject({
  id: id.describe('The run.'),
  part: z
    .enum(['summary', 'diff', 'log', 'artifact'])
    .describe('Its whole report, its changes, what it did step by step, or what it produced.'),
  offset: z.int().min(0).optional().describe('Where to begin, in characters. Default 0.'),
  limit: z.int().min(1).max(16_000).optional().describe(`How many characters. Default ${pageChars}.`),
});

const read: DialectTool<z.infer<typeof Read>> = {
  name: 'delegate_read',
  description: () => 'Reads what did not fit into the result of a delegated run, page by page.',
  input: Read,
  readOnly: true,
  toRequest: (input) => ({ kind: 'read', id: input.id, part: input.part, offset: input.offset ?? 0, limit: input.limit ?? pageChars }),
  fromReply(reply, request) {
    if (reply.kind !== 'page' || request.kind !== 'read') return refusal(reply);
    const { text, offset, total } = reply.page;
    const end = offset + text.length;
    const parts: DialectResult['parts'] = [{ text: `[run ${reply.id} · ${request.part} · characters ${offset} to ${end} of ${total}]` }];
    if (text !== '') parts.push({ text, run: reply.id });
    if (end < total) parts.push({ text: `There is more: go on with offset ${end}.` });
    return { parts, isError: false };
  },
};

const Cancel = z.strictObject({
  ids: ids.min(1).describe('The runs to stop.'),
  reason: z.string().max(2000).optional().describe('Why; it is kept with the run.'),
});

const cancel: DialectTool<z.infer<typeof Cancel>> = {
  name: 'delegate_cancel',
  description: () => 'Stops delegated runs and all that they delegated in turn. What they did up to then stays.',
  input: Cancel,
  readOnly: false,
  toRequest: (input) => ({ kind: 'cancel', ids: input.ids, reason: input.reason ?? null }),
  fromReply: (reply: DelegationReply) => (reply.kind === 'children' ? childrenResult(reply.children, askedFor) : refusal(reply)),
};

function askedFor({ asked }: ChildReply & { ok: false }): string {
  return `run ${asked ?? '?'}`;
}

export const followTools = [wait, message, read, cancel];
