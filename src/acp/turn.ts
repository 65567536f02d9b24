// One prompt while its run works: passes the events of the tree on, and answers the prompt when the run has ended.
//
//  1. The result never comes before the updates that belong to it.
//  2. A cancelled turn is answered with `cancelled`, at the latest after `cancelAnswerMs`, even if processes of the run take longer to end.
//  3. `settled` resolves when nothing of the run is left in this process, and never rejects.
import type { Api, RunHandle } from '../api/api.ts';
import { isRetinueError } from '../contract/error.ts';
import type { Fact } from '../contract/fact.ts';
import type { Outcome } from '../contract/outcome.ts';
import { RpcError, rpcCodes } from '../system/rpc-error.ts';
import type { PromptResult, StopReason } from './protocol.ts';
import { createTreeUpdates, type TreeUpdates, type TreeUpdatesDeps } from './tree-updates.ts';

const cancelAnswerMs = 60;

export interface TurnDeps extends Omit<TreeUpdatesDeps, 'isReplay'> {
  /** Starts or resumes the run. */
  start(api: Api): Promise<RunHandle>;
  /** Opens the API, whose events begin before the run does. */
  open(): Promise<Api>;
  /** Facts of a tree that is resumed. */
  earlier(api: Api): Promise<Fact[]>;
  after(ms: number, run: () => void): () => void;
  log(line: string): void;
}

export type TurnEnd = { runId: string; outcome: Outcome } | { runId: string | null; error: unknown };

export interface Turn {
  result: Promise<PromptResult>;
  settled: Promise<TurnEnd>;
  /** Fires when the turn is cancelled. */
  cancelled: AbortSignal;
  cancel(): void;
  /** Sends a message to the run. False if it accepts none any more, or could not be started. `rules` narrow the run. */
  send(text: string, rules?: string[]): Promise<boolean>;
  reveal: TreeUpdates['reveal'];
}

export function createTurn(deps: TurnDeps): Turn {
  const stop = new AbortController();
  const early = Promise.withResolvers<PromptResult>();
  let isLive = false;
  let endTimer = () => {};
  let unwatch = () => {};
  const updates = createTreeUpdates({
    ...deps,
    isReplay: false,
    send: (update) => isLive && deps.send(update),
    notice: (severity, text) => isLive && deps.notice(severity, text),
    usage: (usage) => isLive && deps.usage(usage),
  });
  const started = start();
  // No caller may be waiting for it; a rejection then must not end the process.
  started.catch(() => {});
  const settled = settle();

  async function start(): Promise<RunHandle> {
    const api = await deps.open();
    for (const fact of await deps.earlier(api)) updates.take(fact);
    isLive = true;
    unwatch = api.watch(updates.take);
    const handle = await deps.start(api);
    if (stop.signal.aborted) cancelRun(handle);
    return handle;
  }

  async function settle(): Promise<TurnEnd> {
    let runId: string | null = null;
    try {
      const handle = await started;
      runId = handle.id;
      return { runId, outcome: await handle.outcome };
    } catch (error) {
      return { runId, error };
    } finally {
      endTimer();
      unwatch();
    }
  }

  function cancelRun(handle: RunHandle): void {
    handle.cancel('the editor cancelled the prompt', 'the user').catch((error: Error) => deps.log(`cannot cancel: ${error.message}`));
  }

  return {
    settled,
    cancelled: stop.signal,
    result: Promise.race([early.promise, settled.then((end) => endToResult(end, stop.signal.aborted))]),
    cancel() {
      if (stop.signal.aborted) return;
      stop.abort(new Error('the prompt was cancelled'));
      started.then(cancelRun, () => {});
      endTimer = deps.after(cancelAnswerMs, () => {
        updates.abandon();
        early.resolve({ stopReason: 'cancelled' });
      });
    },
    async send(text, rules) {
      const handle = await started.catch(() => null);
      if (handle === null) return false;
      try {
        await handle.send(text, 'the user', rules);
        return true;
      } catch (error) {
        if (isRetinueError(error) && error.code === 'parent_ended') return false;
        throw error;
      }
    },
    reveal: updates.reveal,
  };
}

/** Throws for a run that failed: editors show the message of the error. */
function endToResult(end: TurnEnd, isCancelled: boolean): PromptResult {
  if (isCancelled) return { stopReason: 'cancelled', ...('outcome' in end ? describe(end.outcome) : {}) };
  if ('error' in end) throw end.error;
  const { outcome } = end;
  const stopReason = findStopReason(outcome);
  if (stopReason !== null) return { stopReason, ...describe(outcome) };
  const { code, message } = outcome.error ?? { code: 'internal', message: `the run ended as ${outcome.status}` };
  throw new RpcError(rpcCodes.internal, message, { code, runId: outcome.runId, status: outcome.status });
}

function findStopReason({ status, terminated, error }: Outcome): StopReason | null {
  if (status === 'completed') return 'end_turn';
  if (status === 'cancelled') return 'cancelled';
  if (status === 'exhausted') return terminated === 'max_turns' ? 'max_turn_requests' : 'max_tokens';
  return error?.code === 'refused' ? 'refusal' : null;
}

function describe({ runId, status, tokens, costUsd }: Outcome): Pick<PromptResult, '_meta'> {
  return { _meta: { retinue: { runId, status, tokens, costUsd } } };
}
