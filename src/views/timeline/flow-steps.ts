// The steps of a flow in its lane: side effects and questions are calls, and a sleep is a reason to be idle. A delegation is its run.
import type { FactOf } from '../../contract/fact.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { callKey } from '../describe-call.ts';
import { nameSleep } from '../live-steps.ts';
import type { Lane } from './lane.ts';

/** Numbers of steps take the place of turns; a step is one call. */
const keyOf = (step: number) => callKey({ turn: step, index: 0 });

export function startStep({ state }: Lane, { data }: FactOf<'step.started'>, at: number): void {
  const { step, kind, name } = data;
  if (kind === 'sleep') state.sleeps.set(step, sanitizeLine(nameSleep(name)));
  if (kind !== 'step' && kind !== 'ask') return;
  const text = sanitizeLine(`${kind} ${name}`);
  const call = { key: keyOf(step), turn: step, tool: kind, text, isWait: false, needsApproval: kind === 'ask' };
  state.calls.set(call.key, { ...call, from: at, to: null, status: 'open' });
}

/** Returns what went wrong; empty otherwise. */
export function finishStep({ state }: Lane, { data }: FactOf<'step.finished'>, at: number): string {
  state.sleeps.delete(data.step);
  const call = state.calls.get(keyOf(data.step));
  if (!call) return '';
  state.calls.delete(call.key);
  Object.assign(call, { to: at, status: data.status, needsApproval: false });
  return data.status === 'ok' ? '' : `${call.text}: ${data.error?.message ?? 'cut off, result unknown'}`;
}

/** The answer to a question ends its step. */
export function answerStep({ state }: Lane, { data }: FactOf<'approval.answered'>, at: number): void {
  const call = state.calls.get(callKey(data));
  if (!call) return;
  state.calls.delete(call.key);
  Object.assign(call, { to: at, status: data.allowed ? 'ok' : 'denied', needsApproval: false });
}
