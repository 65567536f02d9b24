// The tool calls of an external agent: judged by the rules like those of a model, recorded under Retinue's names, and answered once.
import type { ContentPart } from '../../contract/content.ts';
import { RetinueError } from '../../contract/error.ts';
import type { Draft } from '../../contract/fact.ts';
import { submitTool } from '../../contract/tool-names.ts';
import type { CallRef } from '../../conversation/tool-calls.ts';
import type { ExternalCall, ExternalResult } from '../../ports/external-agent.ts';
import { canonical } from '../../text/canonical.ts';
import { cutMiddle } from '../../text/cut.ts';
import type { Run } from '../run.ts';
import type { Services } from '../services.ts';
import { callAt, currentCalls } from '../state/state.ts';
import { waitForApproval } from '../tool-calls/approval.ts';
import { judgeToolCalls, toolFinishedFact } from '../tool-calls/judge.ts';
import { redactPart } from '../tool-calls/original-arguments.ts';

const maxOutputBytes = 64 * 1024;
const taint = ['external'];

export interface JudgedCalls {
  content: ContentPart[];
  drafts: Draft[];
}

export interface ExternalCalls {
  /** Judges the calls of an answer and returns their facts. `from`: the index of the first one. */
  judge(calls: ExternalCall[], at: { turn: number; from: number }): Promise<JudgedCalls>;
  /** Whether a recorded call may be made. Waits for an approval if a rule wants one. */
  isAllowed(call: ExternalCall): Promise<boolean>;
  /** The recorded call with this id or, if there is none, an open one of the same tool and arguments. */
  find(call: ExternalCall): CallRef | null;
  finish(result: ExternalResult): void;
  /** Ends open calls of the last answer that the agent has no result of. */
  finishOthers(why: string): void;
}

export function createExternalCalls(run: Run, services: Services): ExternalCalls {
  const { redact } = services;
  const known = new Map<string, CallRef>();
  const answers = new Map<string, Promise<boolean>>();

  async function judge(calls: ExternalCall[], { turn, from }: { turn: number; from: number }): Promise<JudgedCalls> {
    const parts = calls.map(({ id, tool, args }) => ({ type: 'tool-call' as const, callId: id, input: canonical(args), tool }));
    const content = parts.flatMap((part) => redactPart(part, redact));
    const originals = parts.map(({ input }) => input);
    const judged = await judgeToolCalls({ content, originals, turn, from }, run, services);
    if (judged === null) throw new RetinueError('paused', 'the run was paused before its call was judged', { retryable: true });
    const drafts = judged.flatMap((draft) => withoutRules(draft, calls, from));
    for (const [n, call] of calls.entries()) known.set(call.id, { turn, index: from + n });
    return { content, drafts };
  }

  function find(call: ExternalCall): CallRef | null {
    const ref = known.get(call.id);
    if (ref) return ref;
    const same = currentCalls(run.state).find(
      (each) => !each.finished && each.tool === call.tool && canonical(each.arguments) === canonical(call.args),
    );
    return same ?? null;
  }

  async function decide(ref: CallRef): Promise<boolean> {
    const call = callAt(run.state, ref);
    if (!call) return false;
    if (call.finished) return call.rejected === 'submit';
    run.slot.setBusyCalls(currentCalls(run.state).length);
    const refusal = await waitForApproval(run, call, services);
    if (run.signal.aborted) return false;
    if (refusal === null) return !call.finished;
    if (!call.finished) await run.record([toolFinishedFact(call, { status: 'denied', output: refusal })]);
    return false;
  }

  return {
    judge,
    find,
    isAllowed(call) {
      const ref = find(call);
      if (!ref) return Promise.resolve(false);
      const key = `${ref.turn}.${ref.index}`;
      const answer = answers.get(key) ?? decide(ref);
      answers.set(key, answer);
      return answer;
    },
    finish({ id, isError, output }) {
      // A call that touches several files is several calls here: `id`, `id#1`, …
      const refs = [...known].flatMap(([each, ref]) => (each === id || each.startsWith(`${id}#`) ? [ref] : []));
      const open = refs.flatMap((ref) => callAt(run.state, ref) ?? []).filter((call) => !call.finished);
      const cut = cutMiddle(redact(output.toWellFormed(), false), maxOutputBytes);
      if (open.length === 0) return;
      const status = isError ? 'error' : 'ok';
      void run.record(open.map((call) => toolFinishedFact(call, { status, output: cut.text, taint, truncated: cut.truncated })));
    },
    finishOthers(why) {
      const open = currentCalls(run.state).filter((call) => !call.finished);
      if (open.length > 0) void run.record(open.map((call) => toolFinishedFact(call, { status: 'cancelled', output: why })));
    },
  };
}

/** Calls that only change the agent's own state need no rule, and no call of an agent may be repeated by Retinue. */
function withoutRules(draft: Draft, calls: ExternalCall[], from: number): Draft[] {
  if (!('index' in draft.data)) return [draft];
  const isInternal = calls[draft.data.index - from]?.isInternal === true;
  if (draft.type === 'tool.asked') {
    const { data } = draft;
    const decision = { action: 'allow' as const, owner: 'kernel', rule: null };
    const isSubmit = data.tool === submitTool && data.rejected === 'submit';
    return [{ type: 'tool.asked', data: { ...data, ...(isInternal && { decision, rejected: null }), idempotent: isSubmit } }];
  }
  return isInternal ? [] : [draft];
}
