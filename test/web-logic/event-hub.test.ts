// The one event stream of a page: where it continues, and what it tells about the connection.
import { expect, it } from 'vitest';
import type { StreamEvent } from '../../src/api/api.ts';
import { RemoteError } from '../../src/client/error.ts';
import type { EventStreamOptions } from '../../src/client/events.ts';
import { createEventHub } from '../../web/src/data/event-hub.ts';
import { createFact, settle } from './support.ts';

type Stream = (options: EventStreamOptions) => AsyncGenerator<StreamEvent>;

function createHub(streams: Stream[], position = async () => '5') {
  const starts: (string | undefined)[] = [];
  const hub = createEventHub({
    position,
    events(options = {}) {
      starts.push(options.after);
      return (streams.shift() ?? endless)(options);
    },
  });
  return { hub, starts };
}

async function* endless({ signal }: EventStreamOptions): AsyncGenerator<StreamEvent> {
  await new Promise((resolve) => signal?.addEventListener('abort', resolve));
}

it('continues after the last event when it is started again', async () => {
  const { hub, starts } = createHub([
    async function* (options) {
      yield createFact({ type: 'run.resumed', data: { by: 'x' } }, 6);
      yield { type: 'delta', runId: 'a', turn: 1, kind: 'text', text: 'x' };
      yield* endless(options);
    },
  ]);
  const seen: string[] = [];
  hub.subscribe({ onEvent: (event) => seen.push(event.type) });
  hub.start();
  await hub.ready();
  await settle();
  hub.stop();
  hub.start();
  await settle();
  expect(starts).toEqual(['5', '6']);
  expect(seen).toEqual(['run.resumed', 'delta']);
  hub.stop();
});

it('passes a reset on and continues after its position', async () => {
  const { hub, starts } = createHub([
    async function* (options) {
      yield { type: 'reset', position: '40' };
      yield* endless(options);
    },
  ]);
  let resets = 0;
  hub.subscribe({ onReset: () => resets++ });
  hub.start();
  await hub.ready();
  await settle();
  hub.stop();
  hub.start();
  await settle();
  expect(resets).toBe(1);
  expect(starts).toEqual(['5', '40']);
  hub.stop();
});

it('reports a lost connection once, and that it works again', async () => {
  let report: NonNullable<EventStreamOptions['onConnection']> = () => {};
  const { hub } = createHub([
    async function* (options) {
      report = options.onConnection ?? report;
      report({ state: 'open' });
      yield* endless(options);
    },
  ]);
  const states: string[] = [];
  let reconnects = 0;
  hub.watchConnection(() => states.push(hub.connection().state));
  hub.subscribe({ onReconnect: () => reconnects++ });
  hub.start();
  await hub.ready();
  await settle();
  report({ state: 'waiting', retryMs: 1, reason: 'cut' });
  report({ state: 'connecting' });
  report({ state: 'open' });
  expect(states).toEqual(['open', 'lost', 'open']);
  expect(reconnects).toBe(1);
  hub.stop();
});

it('ends with a refused session', async () => {
  const { hub, starts } = createHub([], () => Promise.reject(new RemoteError('unauthorized', 'the session has ended', { status: 401 })));
  hub.start();
  await settle();
  expect(hub.connection()).toEqual({ state: 'refused', reason: 'the session has ended' });
  expect(starts).toEqual([]);
});

it('ends if what was asked for will never be there', async () => {
  const { hub } = createHub([], () => Promise.reject(new RemoteError('usage', 'this server knows no workspace `x`', { status: 400 })));
  hub.start();
  await settle();
  expect(hub.connection()).toEqual({ state: 'failed', reason: 'this server knows no workspace `x`' });
});
