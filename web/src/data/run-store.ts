// One run in full: its facts, folded into a conversation and a log, and kept up to date.
//
// 1. Events that arrive while the facts load are kept and applied after them; those that are loaded already are skipped.
// 2. Everything changes in place. `version` changes with it, and listeners hear of it at most once per frame.
import type { Client } from '../../../src/client/client.ts';
import type { Delta } from '../../../src/contract/delta.ts';
import type { ErasedFact, StoredFact } from '../../../src/contract/fact.ts';
import { isAfter } from '../../../src/text/position.ts';
import { applyToConversation, type Conversation, createConversation } from '../../../src/views/conversation.ts';
import { createFactDescriber } from '../../../src/views/describe-fact.ts';
import type { EventHub } from './event-hub.ts';

export interface LogEntry {
  fact: StoredFact | ErasedFact;
  /** One line about it; empty if its content was erased. */
  text: string;
}

export interface RunRecord {
  conversation: Conversation;
  log: LogEntry[];
  isLoaded: boolean;
  /** Whether the answer that streams began before the page was opened, so that its beginning is missing. */
  isStreamCut: boolean;
}

export interface RunStore {
  version(): number;
  record(): RunRecord;
  error(): Error | null;
  subscribe(listener: () => void): () => void;
  reload(): void;
  /** Loads and follows the run until it is closed; it can be opened again. */
  open(): void;
  close(): void;
}

export interface RunStoreDeps {
  client: Pick<Client, 'facts'>;
  hub: Pick<EventHub, 'ready' | 'subscribe'>;
  createScheduler(run: () => void): { schedule(): void; cancel(): void };
}

/** An event that is older was missed while the page had no connection. */
const freshMs = 2_000;

export function createRunStore(id: string, { client, hub, createScheduler }: RunStoreDeps): RunStore {
  const listeners = new Set<() => void>();
  let stop = new AbortController();
  let unsubscribe = () => {};
  let record = createRecord();
  let describe = createFactDescriber();
  let last = '0';
  let error: Error | null = null;
  let version = 0;
  let early: (StoredFact | Delta)[] | null = [];
  let attempt = 0;

  const scheduler = createScheduler(() => {
    version++;
    for (const listener of [...listeners]) listener();
  });

  function apply(event: StoredFact | Delta): void {
    if (event.type === 'delta') {
      if (record.conversation.streaming === null && record.conversation.askedAt !== null) record.isStreamCut = !sawRequest(event.turn);
    } else {
      if (!isAfter(event.position, last)) return;
      last = event.position;
      record.log.push({ fact: event, text: describe(event) });
    }
    applyToConversation(record.conversation, event);
  }

  /** The turn whose request arrived as it was made: no piece of its answer is missing. */
  let liveTurn = 0;
  function sawRequest(turn: number): boolean {
    return turn <= liveTurn;
  }

  async function load(): Promise<void> {
    const own = ++attempt;
    const { signal } = stop;
    early ??= [];
    try {
      await hub.ready();
      const facts = await client.facts(id, { signal });
      if (own !== attempt || signal.aborted) return;
      record = createRecord();
      describe = createFactDescriber();
      last = '0';
      for (const fact of facts) {
        if ('erased' in fact) record.log.push({ fact, text: '' });
        else apply(fact);
      }
      record.isLoaded = true;
      error = null;
    } catch (problem) {
      if (own !== attempt || signal.aborted) return;
      error = problem as Error;
    }
    const events = early ?? [];
    early = null;
    for (const event of events) apply(event);
    scheduler.schedule();
  }

  return {
    version: () => version,
    record: () => record,
    error: () => error,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    reload: () => void load(),
    open() {
      stop = new AbortController();
      unsubscribe = hub.subscribe({
        onEvent(event) {
          if (event.runId !== id) return;
          if (event.type === 'model.asked' && Date.now() - Date.parse(event.at) < freshMs) liveTurn = event.data.turn;
          if (early !== null) early.push(event);
          else {
            apply(event);
            scheduler.schedule();
          }
        },
        onReset: () => void load(),
        onReconnect: () => void (error !== null && load()),
      });
      void load();
    },
    close() {
      stop.abort();
      unsubscribe();
      scheduler.cancel();
    },
  };
}

function createRecord(): RunRecord {
  return { conversation: createConversation(), log: [], isLoaded: false, isStreamCut: false };
}
