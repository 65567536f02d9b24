// The kernel's side of the model gate: every model call of an external agent is reserved before it is made and recorded before the agent sees the answer.
//
// G1. No call begins without a reservation, after the run was stopped, or past its limits (invariants 5 and 8).
// G2. The agent gets an answer only when it is durable and all of its tool calls may be made. Otherwise it gets the denials as text.
// G3. Calls of the conversation are recorded one at a time. A result that a request carries is recorded before the request.
// G4. A call that was sent is charged and recorded, also if it breaks off: closing the connection early saves nothing.
import type { Usage } from '../../contract/content.ts';
import type { ErrorInfo } from '../../contract/error.ts';
import type { Draft } from '../../contract/fact.ts';
import type { GateAnswer, GateCall, GateRequest, ModelGate } from '../../ports/external-agent.ts';
import type { LaneResult } from '../../scheduling/lanes.ts';
import { waitWhilePaused } from '../pause.ts';
import type { ModelWork, Run } from '../run.ts';
import type { Services } from '../services.ts';
import { limitEnding, nextStep } from '../state/next-step.ts';
import type { Ending } from '../state/outcome.ts';
import { callAt } from '../state/state.ts';
import type { ExternalCalls } from './calls.ts';

/** Output tokens assumed until the answer arrives. */
const estimatedOutput = 512;
const zeroAmount = { tokens: 0, costUsd: 0 };

export interface GateDeps {
  calls: ExternalCalls;
  enqueue<T>(work: () => Promise<T>): Promise<T>;
  /** Ends the run: the gate's refusal decides. */
  endWith(ending: Ending): void;
  isClosed(): boolean;
}

/** A provider thinks before it sends anything. So a call that the agent cuts off costs at least the output that was reserved for it. */
function withUnseenOutput(usage: Usage, { maxOutputTokens }: GateRequest): Usage {
  const reserved = Math.min(estimatedOutput, maxOutputTokens ?? estimatedOutput);
  return usage.estimated ? { ...usage, output: Math.max(usage.output, reserved) } : usage;
}

type GateBeginResult = Awaited<ReturnType<ModelGate['begin']>>;
const stoppedResult: GateBeginResult = { ok: false, refused: 'the run has been stopped' };

export function createExternalGate(run: Run, deps: GateDeps, services: Services): ModelGate {
  const { state, budget, signal } = run;
  const { calls, enqueue, endWith, isClosed } = deps;
  const { model } = run.work as ModelWork;
  const toAmount = (usage: Usage) => ({ tokens: usage.input + usage.output, costUsd: model.price?.(usage) ?? 0 });
  let isTurnOpen = false;

  /** Records the results that the request carries, and checks the limits of the run. Null: the call may be made. */
  async function prepareTurn(request: GateRequest): Promise<string | null> {
    if (isTurnOpen) return 'this run already has a model call of its conversation; one at a time';
    for (const result of request.results) calls.finish(result);
    calls.finishOthers('the agent went on without a result of this call');
    const step = nextStep(state);
    const limit = step.do === 'ask' && step.cause ? limitEnding(step.cause, state) : null;
    const isOver = step.do === 'end' && (step.ending.code !== null || state.data !== undefined);
    const ending = limit ?? (isOver ? step.ending : null);
    if (!ending) return null;
    endWith(ending);
    return ending.code === null ? 'the result was accepted; nothing more is needed' : ending.message;
  }

  async function begin(request: GateRequest): Promise<GateBeginResult> {
    await waitWhilePaused(run, services);
    if (signal.aborted || isClosed() || !(await run.slot.ensure())) return stoppedResult;
    const refused = request.isTurn ? await enqueue(() => prepareTurn(request)) : null;
    if (refused !== null) return { ok: false, refused };
    if (request.isTurn) isTurnOpen = true;
    const begun = await reserve(request);
    if (!begun.ok) isTurnOpen = request.isTurn ? false : isTurnOpen;
    return begun;
  }

  async function reserve(request: GateRequest): Promise<GateBeginResult> {
    const usage = { cached: 0, estimated: true, input: Math.ceil(request.bytes / 3), output: estimatedOutput, reasoning: 0 };
    const reservation = await budget.reserve(toAmount(usage), { headroom: zeroAmount, signal });
    if (!reservation.ok) {
      if (reservation.cause === 'aborted') return stoppedResult;
      const ending = limitEnding(reservation.cause, state);
      endWith(ending);
      return { ok: false, refused: ending.message };
    }
    const pass = await services.lanes.lane(model.lane).enter(signal);
    if (!pass) {
      reservation.settle(zeroAmount);
      return stoppedResult;
    }
    if (request.isTurn) await enqueue(async () => void run.record([askedDraft(request)]));
    let isDone = false;
    const finish = (used: Usage | null, lane: LaneResult) => {
      if (isDone) return false;
      isDone = true;
      if (request.isTurn) isTurnOpen = false;
      reservation.settle(used ? toAmount(used) : zeroAmount);
      pass.leave(lane);
      return true;
    };
    return { ok: true, call: createCall(request, finish) };
  }

  function createCall(request: GateRequest, finish: (used: Usage | null, lane: LaneResult) => boolean): GateCall {
    return {
      async answered(answer) {
        if (!finish(answer.usage, { kind: 'ok' })) return 'the call has already ended';
        const costUsd = model.price ? model.price(answer.usage) : null;
        if (request.isTurn) return enqueueTurn(answer, costUsd);
        await run.record([{ type: 'model.called', data: { costUsd, model: model.id, request: request.hash, usage: answer.usage } }]);
        return answer.calls.length === 0 ? null : 'a call without tools has no tool calls';
      },
      failed({ error, isLimited, usage: reported }) {
        const usage = reported && error.code === 'cancelled' ? withUnseenOutput(reported, request) : reported;
        if (!finish(usage, isLimited ? { kind: 'limited', retryAfterMs: null } : { kind: 'failed' })) return;
        const costUsd = usage && model.price ? model.price(usage) : null;
        void enqueue(async () => {
          if (request.isTurn) return run.record([failedDraft(error, usage, costUsd)]);
          if (usage) await run.record([{ type: 'model.called', data: { costUsd, model: model.id, request: request.hash, usage } }]);
        }).catch(() => {});
      },
    };
  }

  function failedDraft(error: ErrorInfo, usage: Usage | null, costUsd: number | null): Draft {
    const attempt = state.phase.name === 'asking' ? state.phase.asked.attempt : 1;
    const clean = { ...error, message: services.redact(error.message, true) };
    const turn = state.guards.turns + 1;
    return { type: 'model.failed', data: { again: true, attempt, costUsd, error: clean, fallback: null, text: '', turn, usage } };
  }

  function askedDraft({ hash, maxOutputTokens }: GateRequest): Draft {
    const open = state.phase.name === 'asking' ? state.phase.asked : null;
    const attempt = (open?.attempt ?? 0) + 1;
    const upTo = open?.upTo ?? state.seq;
    const turn = state.guards.turns + 1;
    return {
      type: 'model.asked',
      data: { attempt, cause: null, maxOutputTokens, model: model.id, purpose: 'turn', request: hash, turn, upTo },
    };
  }

  /** Records the answer with its judged calls, then waits until all of them may be made. */
  async function enqueueTurn(answer: GateAnswer, costUsd: number | null): Promise<string | null> {
    const turn = state.guards.turns + 1;
    await enqueue(async () => {
      const text = services.redact(answer.text.toWellFormed(), false);
      const judged = await calls.judge(answer.calls, { turn, from: 0 });
      const content = [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...judged.content];
      const { finish, usage } = answer;
      await run.record([{ type: 'model.answered', data: { content, costUsd, dropped: 0, finish, turn, usage } }, ...judged.drafts]);
    });
    const allowed = await Promise.all(answer.calls.map((call) => calls.isAllowed(call)));
    if (signal.aborted) return 'the run has been stopped';
    if (allowed.every(Boolean)) return null;
    calls.finishOthers('this call was not made, because another call of the same answer was refused');
    const refused = answer.calls.flatMap((call, index) => {
      const output = allowed[index] ? null : callAt(state, { turn, index })?.finished?.output;
      return output ? [`${call.tool}: ${output}`] : [];
    });
    await services.journal.flushed();
    return [answer.text, ...refused].filter((part) => part !== '').join('\n');
  }

  return { begin };
}
