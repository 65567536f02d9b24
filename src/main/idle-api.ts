// An API that is closed when nothing uses it: no call, no open stream, no listener and no run that this process drives.
import type { Api, RunHandle } from '../api/api.ts';
import type { RuntimeClient } from '../kernel/runtime.ts';

export interface IdleApi {
  api: Api;
  close(): Promise<void>;
}

/** `onIdle` is called once, when nothing has used the API for `idleMs`. */
export function createIdleApi(api: Api, { idleMs, onIdle }: { idleMs: number; onIdle(): void }): IdleApi {
  let uses = 0;
  let timer: NodeJS.Timeout | null = null;

  function begin(): () => void {
    uses++;
    if (timer) clearTimeout(timer);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (--uses === 0) startTimer();
    };
  }

  function startTimer(): void {
    timer = setTimeout(onIdle, idleMs);
    timer.unref();
  }

  /** A run that this process drives uses the API until it ends. */
  function keepFor(handle: RunHandle): void {
    const end = begin();
    handle.outcome.then(end, end);
  }

  /** A client uses it until it is closed. */
  async function openClient(...args: Parameters<Api['client']>): Promise<RuntimeClient> {
    const end = begin();
    try {
      const client = await api.client(...args);
      return { ...client, close: (how) => client.close(how).finally(end) };
    } catch (error) {
      end();
      throw error;
    }
  }

  function keepForResult(result: unknown): void {
    for (const each of [result].flat()) {
      const handle = isHandle(each) ? each : isObject(each) && isHandle(each.handle) ? each.handle : null;
      if (handle) keepFor(handle);
    }
  }

  async function track(result: Promise<unknown>): Promise<unknown> {
    const end = begin();
    try {
      const value = await result;
      keepForResult(value);
      return value;
    } finally {
      end();
    }
  }

  async function* trackItems(items: AsyncIterable<unknown>): AsyncGenerator<unknown> {
    const end = begin();
    try {
      yield* items;
    } finally {
      end();
    }
  }

  function wrap(call: (...args: never[]) => unknown): (...args: never[]) => unknown {
    return (...args) => {
      const result = call(...args);
      if (result instanceof Promise) return track(result);
      if (isObject(result) && Symbol.asyncIterator in result) return trackItems(result as unknown as AsyncIterable<unknown>);
      // `watch` returns the function that removes the listener.
      if (typeof result !== 'function') return result;
      const end = begin();
      return () => {
        result();
        end();
      };
    };
  }

  startTimer();
  const wrapped = Object.fromEntries(
    Object.entries(api).map(([name, part]) => [name, typeof part === 'function' ? wrap(part as never) : part]),
  );
  return {
    api: { ...(wrapped as unknown as Api), client: openClient },
    async close() {
      if (timer) clearTimeout(timer);
      await api.close();
    },
  };
}

function isObject(value: unknown): value is Record<PropertyKey, unknown> {
  return typeof value === 'object' && value !== null;
}

function isHandle(value: unknown): value is RunHandle {
  return isObject(value) && value.outcome instanceof Promise;
}
