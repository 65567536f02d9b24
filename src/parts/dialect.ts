// The tools of a dialect at work: input to request, the request carried out, the reply to a result. Both doors use it, a parent model's and a
// client's.
import { RetinueError } from '../contract/error.ts';
import type { Catalog } from '../ports/catalog.ts';
import type { Delegation } from '../ports/delegation.ts';
import type { ChildReply, DelegationReply, DelegationRequest, Dialect, DialectContext, DialectTool } from '../ports/dialect.ts';
import type { AnyTool } from '../ports/tool.ts';
import { joinParts } from './deliver.ts';

/** Carries out what a delegation tool asked for. When the signal fires, what this request started is cancelled; a mere wait just ends. */
export async function perform(request: DelegationRequest, delegation: Delegation, signal?: AbortSignal): Promise<DelegationReply> {
  const stop = signal ? { signal } : {};
  switch (request.kind) {
    case 'refuse':
      return { kind: 'refused', error: { code: 'invalid_brief', message: request.message, retryable: false } };
    case 'delegate': {
      const started = await delegation.start(request.briefs);
      const ids = started.flatMap((each) => (each.ok ? [each.runId] : []));
      await delegation.wait(ids, { mode: 'all', ms: request.waitMs, ...stop });
      if (signal?.aborted) await delegation.cancel(ids, 'the call that delegated it was cancelled');
      return { kind: 'children', children: started.map((each) => (each.ok ? reply(each.runId, delegation) : { ...each, asked: null })) };
    }
    case 'wait': {
      const ids = request.ids ?? delegation.children().flatMap(({ row, outcome }) => (outcome ? [] : [row.runId]));
      await delegation.wait(
        ids.filter((id) => delegation.view(id)),
        { mode: request.mode, ms: request.waitMs, ...stop },
      );
      return { kind: 'children', children: ids.map((id) => reply(id, delegation)) };
    }
    case 'message': {
      const sent = await delegation.message(request.id, request.text);
      return { kind: 'children', children: [sent.ok ? reply(sent.runId, delegation) : { ...sent, asked: request.id }] };
    }
    case 'cancel':
      await delegation.cancel(request.ids, request.reason);
      return { kind: 'children', children: request.ids.map((id) => reply(id, delegation)) };
    case 'read': {
      const page = await delegation.read(request.id, request.part, request);
      return page ? { kind: 'page', id: request.id, page } : { kind: 'refused', error: notYours(request.id).info };
    }
  }
}

function reply(id: string, delegation: Delegation): ChildReply {
  const view = delegation.view(id);
  return view ? { ok: true, view } : { ok: false, error: notYours(id).info, asked: id };
}

export function notYours(id: string): RetinueError {
  return new RetinueError('unknown_run', `${id} is none of your delegated runs`);
}

/** A dialect's tools for a parent model. They keep their own time, because they wait for children. */
export function dialectTools(dialect: Dialect, catalog: Catalog): AnyTool[] {
  const context: DialectContext = { door: 'model', agents: catalog.list().map(({ name, description }) => ({ name, description })) };
  return dialect.tools.map((tool) => ({
    name: tool.name,
    description: tool.description(context),
    input: tool.input,
    readOnly: tool.readOnly,
    idempotent: false,
    timeoutMs: null,
    maxOutputBytes: 1_048_576,
    subjects: () => [],
    execute: (input, { delegation }) => runTool(tool, input, delegation, context),
  }));
}

/** One use of a delegation tool, from its input to the text that enters a conversation. */
export async function runTool(tool: DialectTool, input: unknown, delegation: Delegation, context: DialectContext, signal?: AbortSignal) {
  const request = tool.toRequest(input, context);
  const answer = await perform(request, delegation, signal);
  const result = tool.fromReply(answer, request, context);
  const ended =
    answer.kind === 'children' ? answer.children.flatMap((child) => (child.ok && child.view.outcome ? [child.view.row.runId] : [])) : [];
  return { output: joinParts(result.parts, delegation.maxOutputBytes), isError: result.isError, told: ended, taint: ['child'] };
}
