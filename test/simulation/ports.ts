// Store, model and tools of a simulated process.
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { z } from 'zod';
import type { Usage } from '../../src/contract/content.ts';
import type { ModelCaller, ModelCallResult, ModelRequester, Models } from '../../src/ports/model.ts';
import type { Store } from '../../src/ports/store.ts';
import type { AnyTool } from '../../src/ports/tool.ts';
import type { MemoryData } from '../../src/stores/memory/data.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { endsTree } from '../../src/stores/tree-end.ts';
import { answerTo, countAnswers, isCompaction, type Plan } from './plan.ts';
import { busyError, type SimulatedProcess } from './process.ts';

export interface StoreObserver {
  fault(what: string): void;
  onTreeEnd?(rootId: string): void;
}

/** The shared store as this process sees it: operations fail before or after they take effect, are slow, and wake-ups may come twice. */
export function createStore(memory: MemoryData, proc: SimulatedProcess, { fault, onTreeEnd }: StoreObserver): Store {
  const store = createMemoryStore({ clock: proc.clock, memory });
  const { queue } = store;
  const slow = async <T>(read: () => Promise<T>): Promise<T> => {
    await proc.point();
    if (proc.fails('store')) throw busyError();
    const value = await read();
    await proc.point();
    return value;
  };
  return {
    ...store,
    async append(owner, units) {
      await proc.point();
      if (proc.fails('store')) throw busyError();
      const results = await store.append(owner, units);
      for (const [index, unit] of units.entries()) if (results[index]?.ok && endsTree(unit)) onTreeEnd?.(unit.rootId);
      // The same append again, as after a lost reply: the store must refuse it.
      if (proc.random.hit(0.1)) {
        const again = await store.append(
          owner,
          units.filter((unit) => unit.facts.length > 0),
        );
        if (again.some((result) => result.ok)) fault('the store took the same facts twice');
      }
      await proc.point();
      return results;
    },
    facts: (query) => slow(() => store.facts(query)),
    run: (id) => slow(() => store.run(id)),
    runs: (query) => slow(() => store.runs(query)),
    runByKey: (parentId, key) => slow(() => store.runByKey(parentId, key)),
    blob: (hash) => slow(() => store.blob(hash)),
    order: (order) => slow(() => store.order(order)),
    orders: (owner) => slow(() => store.orders(owner)),
    dropOrders: (owner, ids) => slow(() => store.dropOrders(owner, ids)),
    open: (queues) => store.open(queues),
    release: (owner) => store.release(owner),
    claim: (owner, rootId) => slow(() => store.claim(owner, rootId)),
    releaseTree: (owner, rootId) => slow(() => store.releaseTree(owner, rootId)),
    holders: (ids) => store.holders(ids),
    watch: (changed) =>
      store.watch(() => {
        changed();
        if (proc.random.hit(0.2)) changed();
      }),
    close: () => store.close(),
    ...(queue && {
      queue: {
        ...queue,
        take: (options) => slow(() => queue.take(options)),
        touch: (jobs) => slow(() => queue.touch(jobs)),
        complete: (job, again) => slow(() => queue.complete(job, again)),
        putBack: (job, delayMs, problem) => slow(() => queue.putBack(job, delayMs, problem)),
        findOrphans: (queues, limit) => slow(() => queue.findOrphans(queues, limit)),
      },
    }),
  };
}

/** What happened outside the journal: how often each effect took place, and how often each request was answered. */
export interface Outside {
  effects: Map<number, number>;
  answers: Map<string, number>;
}

export function createTools(proc: SimulatedProcess, { effects }: Outside): AnyTool[] {
  const tool = (name: string, more: Partial<AnyTool>): AnyTool => ({
    name,
    description: name,
    input: z.strictObject({ n: z.number() }),
    readOnly: false,
    idempotent: false,
    subjects: () => [],
    async execute({ n }: { n: number }, { signal }) {
      await proc.point();
      if (proc.fails('tool')) throw new Error('broke before');
      if (proc.fails('tool')) await proc.sleep(proc.random.int(0, 4000), proc.random.hit(0.5) ? signal : undefined);
      if (signal.aborted) return { output: 'stopped', isError: true };
      effects.set(n, (effects.get(n) ?? 0) + 1);
      await proc.point();
      if (proc.fails('tool')) throw new Error('broke after');
      return { output: `${name} ${n}` };
    },
    ...more,
  });
  return [
    tool('strike', { portable: true }),
    tool('put', { idempotent: true }),
    tool('look', { idempotent: true, readOnly: true, portable: true }),
  ];
}

export function createModels(plan: Plan): Models {
  return {
    resolve: async (id, user) => ({
      id,
      lane: 'simulated',
      model: { user } as unknown as LanguageModelV4,
      contextWindow: plan.contextWindow,
      maxOutputTokens: null,
      price: plan.price ? (usage: Usage) => (usage.input + usage.output) / 1e6 : null,
    }),
  };
}

export function createCaller(plan: Plan, proc: SimulatedProcess, { answers }: Outside): ModelCaller {
  const failed = (code: 'provider' | 'rate_limited', limited: boolean, retryAfterMs: number | null): ModelCallResult => ({
    ok: false,
    failure: { error: { code, message: 'the provider is not well', retryable: true }, limited, retryAfterMs },
    text: '',
    usage: null,
    aborted: false,
  });
  const refused = failed('provider', false, null) as Extract<ModelCallResult, { ok: false }>;
  const error = { code: 'context_length' as const, message: 'too long', retryable: false };
  const tooLong: ModelCallResult = { ...refused, failure: { ...refused.failure, error } };
  return async ({ model, options, requestBytes, idleMs, signal, onFirst }) => {
    const { runId, task } = (model as unknown as { user: ModelRequester }).user;
    const stopped = (): ModelCallResult => ({ ...failed('provider', false, null), aborted: true }) as ModelCallResult;
    await proc.point();
    if (signal.aborted) return stopped();
    if (requestBytes / 3 > (plan.refusesAbove ?? Number.POSITIVE_INFINITY)) return tooLong;
    if (proc.fails('model')) return failed('provider', false, null);
    if (proc.fails('model')) return failed('rate_limited', true, proc.random.pick([null, 500, 120_000]));
    if (proc.fails('model')) {
      await proc.sleep(idleMs, signal);
      return signal.aborted ? stopped() : failed('provider', false, null);
    }
    onFirst();
    await proc.point();
    if (signal.aborted) return stopped();
    const content = answerTo(plan, task, options);
    const question = `${runId} ${isCompaction(options.prompt) ? 'compaction after' : ''} ${countAnswers(options.prompt)}`;
    answers.set(question, (answers.get(question) ?? 0) + 1);
    const usage = { input: Math.ceil(requestBytes / 3), output: proc.random.int(10, 900), cached: 0, reasoning: 0, estimated: false };
    const calls = content.some((part) => part.type === 'tool-call');
    return { ok: true, answer: { content, finish: calls ? 'tool-calls' : 'stop', usage, dropped: 0 } };
  };
}
