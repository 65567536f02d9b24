// Ports with crash points at the edges of what they do. They add nothing else: what goes in and comes out is untouched.
import type { RuntimeOptions } from '../kernel/runtime.ts';
import { type Crash, type CrashFact, type CrashPoint, crashFacts } from '../ports/crash.ts';
import type { Store, TreeAppend } from '../ports/store.ts';
import type { AnyTool } from '../ports/tool.ts';
import type { ToolExecutor } from '../ports/tool-executor.ts';

type Around = CrashPoint extends infer P ? (P extends `before ${infer Name}` ? Name : never) : never;

/** The same ports, each dying where `crash` says. */
export function crashingRuntime(options: RuntimeOptions, crash: Crash): RuntimeOptions {
  const { callModel, toolSource } = options;
  return {
    ...options,
    executorNamed: (name) => {
      const executor = options.executorNamed(name);
      return executor && executorWith(executor, crash);
    },
    tools: options.tools.map((tool) => toolWith(tool, crash)),
    callModel: (call) => {
      const onFirst = () => {
        crash('first model.event');
        call.onFirst();
      };
      return around('model.call', () => callModel({ ...call, onFirst }), crash);
    },
    ...(toolSource && {
      toolSource: {
        tools: (...given) => around('source.tools', () => toolSource.tools(...given), crash),
        close: () => around('source.close', () => toolSource.close(), crash),
      },
    }),
  };
}

export function crashingStore(store: Store, crash: Crash): Store {
  return {
    ...store,
    async append(owner, units) {
      const types = typesOf(units);
      for (const type of types) crash(`before ${type}`);
      const results = await store.append(owner, units);
      for (const type of types) crash(`after ${type}`);
      return results;
    },
    open: () => around('open', () => store.open(), crash),
    claim: (owner, rootId) => around('claim', () => store.claim(owner, rootId), crash),
    release: (owner) => around('release', () => store.release(owner), crash),
    order: (order) => around('order.give', () => store.order(order), crash),
    orders: (owner) => around('order.look', () => store.orders(owner), crash),
    dropOrders: (owner, ids) => around('order.drop', () => store.dropOrders(owner, ids), crash),
    runs: (query) => around('resume.runs', () => store.runs(query), crash),
    facts: (query) => around('resume.facts', () => store.facts(query), crash),
    blob: (hash) => around('resume.blob', () => store.blob(hash), crash),
    close: () => around('store.close', () => store.close(), crash),
  };
}

async function around<T>(name: Around, act: () => Promise<T>, crash: Crash): Promise<T> {
  crash(`before ${name}`);
  const value = await act();
  crash(`after ${name}`);
  return value;
}

function typesOf(units: TreeAppend[]): CrashFact[] {
  const there = new Set<string>(units.flatMap((unit) => unit.facts.map((fact) => fact.type)));
  return crashFacts.filter((type) => there.has(type));
}

function toolWith(tool: AnyTool, crash: Crash): AnyTool {
  const name = tool.name === 'bash' ? 'tool.command' : tool.readOnly ? 'tool.read' : 'tool.change';
  return { ...tool, execute: (input, context) => around(name, () => tool.execute(input, context), crash) };
}

function executorWith(executor: ToolExecutor, crash: Crash): ToolExecutor {
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
