// A run whose steps are taken elsewhere: the desk that its place asks. The place sees facts and makes portable tool calls; what it asks for is
// done only where the run's own facts call for it, so that a place gone wrong can end its run but never bend it.
//
// R1. A step is taken only if `decide` says the same.
// R2. A result is taken once, for a call that is open and portable, and goes through the same measures as one made here.
// R3. When the place is done, no call stays open: what it had in hand is unknown, or cancelled with the run.
import { z } from 'zod';
import { RetinueError } from '../contract/error.ts';
import type { Fact } from '../contract/fact.ts';
import type { CallState } from '../conversation/request.ts';
import type { CallAt, RemoteSession, StepKind } from '../ports/host.ts';
import type { Store } from '../ports/store.ts';
import { nextStep } from './decide.ts';
import type { Ending } from './fold.ts';
import { heldBack } from './hold.ts';
import type { StopCause } from './live.ts';
import { type LoopEnv, takeStep } from './loop.ts';
import { finishCall, forbidden, isParallel, makeCall } from './make-calls.ts';
import { Attempted, told, unknownText } from './tool-call.ts';

/** The ending that the run came to, or null when it was stopped from outside. Rejects when the place broke down. */
export async function remoteLoop(
  env: LoopEnv,
  place: (session: RemoteSession) => Promise<void>,
  store: Pick<Store, 'facts'>,
): Promise<Ending | null> {
  const { state, journal, signal } = env;
  const over = new AbortController();
  const onAbort = () => over.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  const done = Promise.withResolvers<void>();
  const here = new Set<Promise<void>>();
  /** The calls of the open tools step, each with what it waits for. */
  let open = new Map<CallState, PromiseWithResolvers<void>>();
  /** Calls that are being made here, or whose result is here: none is made or taken twice. */
  const inHand = new Set<CallState>();
  /** Calls that the place was told to make. */
  const begun = new Set<CallState>();
  /** What the place says of its calls follows the step at once, and may be here before that was looked at. */
  let looking: Promise<void> = Promise.resolve();
  let changes: Promise<void> = Promise.resolve();
  let ending: Ending | null | 'none' = 'none';
  let endFacts = () => {};

  async function step(kind: StepKind, seq: number): Promise<'go on' | 'over'> {
    const looked = Promise.withResolvers<void>();
    looking = looked.promise;
    try {
      return await take(kind, seq, looked.resolve);
    } finally {
      looked.resolve();
    }
  }

  async function take(kind: StepKind, seq: number, looked: () => void): Promise<'go on' | 'over'> {
    await heldBack(env);
    if (signal.aborted || ending !== 'none') return 'over';
    const wanted = nextStep(state);
    if (seq < state.seq && wanted.do !== kind) {
      await journal.settled();
      return 'go on';
    }
    if (wanted.do !== kind) throw broken('step', `it asked for ${kind} where the facts call for ${wanted.do}`);
    if (wanted.do === 'tools') await tools(wanted.calls, looked);
    else {
      const taken = await takeStep(env, wanted);
      if (taken !== 'go on') ending = taken;
    }
    await journal.settled();
    return ending === 'none' && !signal.aborted ? 'go on' : 'over';
  }

  async function tools(calls: CallState[], looked: () => void): Promise<void> {
    if (open.size > 0) throw broken('step', 'its tools are at work already');
    open = new Map(calls.map((call) => [call, Promise.withResolvers<void>()]));
    env.slot.work(calls.length);
    looked();
    await Promise.race([Promise.all([...open.values()].map(({ promise }) => promise)), done.promise]);
  }

  function find(at: CallAt, portable: boolean): CallState {
    const call = [...open.keys()].find((each) => each.turn === at.turn && each.index === at.index);
    if (!call || call.finished || inHand.has(call) || isMadeThere(call) !== portable)
      throw broken('call', `${at.turn}.${at.index} is not open to it`);
    inHand.add(call);
    return call;
  }

  /** What was asked about is made here: the place could make something else. */
  function isMadeThere(call: CallState): boolean {
    return isPortable(call.tool) && call.approval === null;
  }

  function isPortable(name: string): boolean {
    return env.tools.tools.get(name)?.portable === true;
  }

  function finish(call: CallState, attempted: Attempted): void {
    finishCall(env, call, told(call, attempted, env.tools));
    open.get(call)?.resolve();
    open.delete(call);
  }

  async function make(call: CallState): Promise<void> {
    finishCall(env, call, await makeCall(env, call, over.signal));
    open.get(call)?.resolve();
    open.delete(call);
  }

  const session: RemoteSession = {
    runId: state.runId,
    workspace: env.tools.workspace,
    toolTimeoutMs: env.tools.toolTimeoutMs,
    portable: env.tools.offered.filter(isPortable),
    ordered: env.tools.offered.filter((name) => !isParallel(env.tools.tools.get(name))),
    async facts(listener) {
      let last = 0;
      let waiting: Fact[] | null = [];
      const take = (fact: Fact) => {
        if (fact.seq <= last) return;
        last = fact.seq;
        listener(fact);
      };
      endFacts = journal.listen((event) => {
        if (event.type === 'delta' || event.runId !== state.runId) return;
        if (waiting) waiting.push(event);
        else take(event);
      });
      await journal.settled();
      for (const { position: _, ...fact } of await store.facts({ runId: state.runId })) take(fact as Fact);
      for (const fact of waiting) take(fact);
      waiting = null;
    },
    step,
    async may(at) {
      await looking;
      const call = find(at, true);
      const instead = await forbidden(env, call);
      if (instead === null) {
        begun.add(call);
        inHand.delete(call);
        return 'go on';
      }
      finishCall(env, call, instead);
      open.get(call)?.resolve();
      open.delete(call);
      return 'over';
    },
    async call(at) {
      await looking;
      const call = find(at, false);
      const made = isParallel(env.tools.tools.get(call.tool)) ? make(call) : changes.then(() => make(call));
      if (!isParallel(env.tools.tools.get(call.tool))) changes = made;
      here.add(made);
      await made.finally(() => here.delete(made));
    },
    async result(at, given) {
      await looking;
      const call = find(at, true);
      if (!begun.has(call)) throw broken('call', `${at.turn}.${at.index} was not begun`);
      const parsed = Attempted.safeParse(given);
      if (!parsed.success) throw broken(pathOf(parsed.error), 'it is no result of a tool');
      // Which children a result tells is for the supervisor's own tools to say.
      const { told: _, ...result } = parsed.data.result;
      finish(call, { status: parsed.data.status, result } as Attempted);
    },
  };

  try {
    await place(session);
    if (ending === 'none' && !signal.aborted) throw new RetinueError('no_result', 'the place of the run was done without an outcome');
  } catch (error) {
    // The first cause wins: what the run came to, or why it was stopped.
    if (ending === 'none' && !signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
    over.abort(signal.reason ?? new Error('its process has ended'));
    await Promise.allSettled(here);
    for (const call of [...open.keys()]) finish(call, cutOff(signal));
    done.resolve();
    endFacts();
  }
  return ending === 'none' ? null : ending;
}

/** What becomes of a call that its place did not finish. */
function cutOff(signal: AbortSignal): Attempted {
  if (!signal.aborted) return { status: 'unknown', result: { output: `${unknownText} (Its process has ended.)` } };
  if ((signal.reason as StopCause).code === 'paused') return { status: 'unknown', result: { output: unknownText } };
  return { status: 'cancelled', result: { output: 'the run was stopped while this call was at work' } };
}

function broken(path: string, why: string): RetinueError {
  return new RetinueError('invalid_reply', `${path}: ${why}`);
}

function pathOf(error: z.ZodError): string {
  return z.core.toDotPath(error.issues[0]?.path ?? []) || 'result';
}
