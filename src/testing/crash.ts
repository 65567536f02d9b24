// Wraps ports with crash points before and after each operation. Arguments and results are not changed.
import type { RuntimeOptions } from '../kernel/runtime.ts';
import { type Crash, type CrashFact, type CrashPoint, crashFacts } from '../ports/crash.ts';
import type { Queue } from '../ports/queue.ts';
import type { Store, TreeAppend } from '../ports/store.ts';
import type { AnyTool } from '../ports/tool.ts';
import type { ToolExecutor } from '../ports/tool-executor.ts';

type Operation = CrashPoint extends infer P ? (P extends `before ${infer Name}` ? Name : never) : never;

/** The same options with crash points in every port. */
export function addCrashPoints(options: RuntimeOptions, crash: Crash): RuntimeOptions {
  const { callModel, toolSource } = options;
  return {
    ...options,
    findExecutor: (name) => {
      const executor = options.findExecutor(name);
      return executor && wrapExecutor(executor, crash);
    },
    tools: options.tools.map((tool) => wrapTool(tool, crash)),
    callModel: (call) => {
      const onFirst = () => {
        crash('first model.event');
        call.onFirst();
      };
      return runWithCrashPoints('model.call', () => callModel({ ...call, onFirst }), crash);
    },
    ...(toolSource && {
      toolSource: {
        tools: (...args) => runWithCrashPoints('source.tools', () => toolSource.tools(...args), crash),
        close: () => runWithCrashPoints('source.close', () => toolSource.close(), crash),
      },
    }),
  };
}

export function addStoreCrashPoints(store: Store, crash: Crash): Store {
  const { queue } = store;
  return {
    ...store,
    async append(owner, units) {
      const types = listCrashFacts(units);
      for (const type of types) crash(`before ${type}`);
      const results = await store.append(owner, units);
      for (const type of types) crash(`after ${type}`);
      return results;
    },
    open: (queues) => runWithCrashPoints('open', () => store.open(queues), crash),
    claim: (owner, rootId) => runWithCrashPoints('claim', () => store.claim(owner, rootId), crash),
    release: (owner) => runWithCrashPoints('release', () => store.release(owner), crash),
    releaseTree: (owner, rootId) => runWithCrashPoints('release', () => store.releaseTree(owner, rootId), crash),
    order: (order) => runWithCrashPoints('order.give', () => store.order(order), crash),
    orders: (owner) => runWithCrashPoints('order.look', () => store.orders(owner), crash),
    dropOrders: (owner, ids) => runWithCrashPoints('order.drop', () => store.dropOrders(owner, ids), crash),
    runs: (query) => runWithCrashPoints('resume.runs', () => store.runs(query), crash),
    facts: (query) => runWithCrashPoints('resume.facts', () => store.facts(query), crash),
    blob: (hash) => runWithCrashPoints('resume.blob', () => store.blob(hash), crash),
    close: () => runWithCrashPoints('store.close', () => store.close(), crash),
    ...(queue && { queue: wrapQueue(queue, crash) }),
  };
}

function wrapQueue(queue: Queue, crash: Crash): Queue {
  return {
    ...queue,
    take: (options) => runWithCrashPoints('queue.take', () => queue.take(options), crash),
    complete: (job, again) => runWithCrashPoints('queue.complete', () => queue.complete(job, again), crash),
    putBack: (job, delayMs, problem) => runWithCrashPoints('queue.put_back', () => queue.putBack(job, delayMs, problem), crash),
    findOrphans: (queues, limit) => runWithCrashPoints('queue.orphans', () => queue.findOrphans(queues, limit), crash),
  };
}

async function runWithCrashPoints<T>(name: Operation, operation: () => Promise<T>, crash: Crash): Promise<T> {
  crash(`before ${name}`);
  const value = await operation();
  crash(`after ${name}`);
  return value;
}

function listCrashFacts(units: TreeAppend[]): CrashFact[] {
  const types = new Set<string>(units.flatMap((unit) => unit.facts.map((fact) => fact.type)));
  return crashFacts.filter((type) => types.has(type));
}

function wrapTool(tool: AnyTool, crash: Crash): AnyTool {
  const name = tool.name === 'bash' ? 'tool.command' : tool.readOnly ? 'tool.read' : 'tool.change';
  return { ...tool, execute: (input, context) => runWithCrashPoints(name, () => tool.execute(input, context), crash) };
}

function wrapExecutor(executor: ToolExecutor, crash: Crash): ToolExecutor {
  return {
    ...executor,
    open(run) {
      crash('before host');
      const session = executor.open(run);
      const close = async () => {
        await session.close();
        crash('after host');
      };
      return { call: (call) => session.call(call), failed: session.failed, close };
    },
  };
}
