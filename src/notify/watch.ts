// Turns the facts that this process records into notifications. Each fact is recorded once, also over a crash and a resume, so each notification is sent
// once. One is lost if the process dies between the record and the sending.
import type { Api, LiveEvent } from '../api/api.ts';
import { factToQuestion } from '../api/questions.ts';
import { type NotifyEvent, type NotifySettings, notifyEvents } from '../config/notify-settings.ts';
import type { FactOf } from '../contract/fact.ts';
import type { RunRow } from '../contract/run.ts';
import { createEndedMessage, createQuestionMessage, type NotifyMessage, type Origin } from './message.ts';

export interface WatchOptions {
  settings: NotifySettings;
  origin: Origin;
  findRow(runId: string): Promise<RunRow | null>;
  notify(message: NotifyMessage): void;
}

/** Returns a function that waits until everything recorded so far was passed on. Call it before the store is closed. */
export function watchForNotifications(api: Pick<Api, 'watch'>, { settings, origin, findRow, notify }: WatchOptions): () => Promise<void> {
  const pending = new Set<Promise<void>>();
  const isWanted = (event: NotifyEvent) => (settings.on ?? notifyEvents).includes(event);

  async function handleEnd({ data: { outcome } }: FactOf<'run.ended'>): Promise<void> {
    if (outcome.depth > 1) return;
    const root = await findRow(outcome.rootId);
    // A client is a connection; what it delegates are trees.
    if (root !== null && outcome.depth === (root.kind === 'client' ? 1 : 0)) notify(createEndedMessage(outcome, origin));
  }

  async function handleQuestion(fact: FactOf<'approval.asked'>): Promise<void> {
    const row = await findRow(fact.runId);
    if (row !== null) notify(createQuestionMessage(factToQuestion(fact, row), origin));
  }

  function handleEvent(event: LiveEvent): void {
    let work: Promise<void> | null = null;
    if (event.type === 'run.ended' && isWanted('ended')) work = handleEnd(event as FactOf<'run.ended'>);
    else if (event.type === 'approval.asked' && isWanted('question')) work = handleQuestion(event as FactOf<'approval.asked'>);
    if (work === null) return;
    // A store that cannot be read is reported by the run itself.
    const settled = work.catch(() => {}).finally(() => pending.delete(settled));
    pending.add(settled);
  }

  api.watch(handleEvent, { deltas: false });
  return async () => {
    while (pending.size > 0) await Promise.all(pending);
  };
}
