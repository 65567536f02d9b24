// Many readers of the same events share one stream: each still gets every fact exactly once and in order, also if it is cut, late or slow.
import { expect, it } from 'vitest';
import type { Fact } from '../../src/contract/fact.ts';
import { openStream, type SentEvent } from './sse.ts';
import { createTestServer } from './support.ts';

const readers = 25;
const padding = 'x'.repeat(30_000);
const worker = {
  steps: [
    ...Array.from({ length: 30 }, (_, i) => ({
      delayMs: 2,
      text: padding,
      chunkSize: 30_000,
      usage: { input: 1, output: 1 },
      // Costs little: the file does not exist.
      calls: [{ tool: 'read', args: { path: `missing-${i}` } }],
    })),
    { text: 'done' },
  ],
};
const options = { script: { runs: [{ times: 'any', ...worker }] }, limits: { maxTurns: 200, maxTokens: 500_000_000 } };
const isOver = (events: SentEvent[]) => (events.at(-1)?.data as Fact | undefined)?.type === 'run.ended';

it.each(['all trees', 'one tree'])('sends each fact of %s once to readers that are cut and come back', async (scope) => {
  await using server = await createTestServer(options);
  const start = await server.api.position();
  const { id, outcome } = await server.api.start({ task: 'work' });
  const path = scope === 'one tree' ? `/api/events?tree=${id}` : `/api/events?after=${start}`;

  async function readAll(n: number): Promise<SentEvent[]> {
    const read: SentEvent[] = [];
    while (!isOver(read)) {
      const lastEventId = read.at(-1)?.id ?? undefined;
      let left = n % 4 === 0 ? 10 + n : Number.POSITIVE_INFINITY;
      const stream = await openStream(server.server.url, path, {
        ...(lastEventId === undefined ? {} : { lastEventId }),
        onEvent(event, cut) {
          if (event.event === 'fact') read.push(event);
          if (--left <= 0 || isOver(read)) cut();
        },
      });
      await stream.ended;
    }
    return read;
  }

  const all = await Promise.all(Array.from({ length: readers }, (_, n) => readAll(n)));
  expect(await outcome).toMatchObject({ status: 'completed' });
  const stored = (await server.world.store.facts({ rootId: id })).map(({ position }) => position);
  for (const read of all) expect(read.map((event) => event.id)).toEqual(stored);
});

it('lets a reader that was blocked catch up by itself', async () => {
  await using server = await createTestServer(options);
  const slow = await openStream(server.server.url, '/api/events', { paused: true });
  const fast = await Promise.all(Array.from({ length: readers }, () => openStream(server.server.url, '/api/events')));
  await expect.poll(async () => (await server.ask('/metrics')).text).toContain(`retinue_event_subscribers ${readers + 1}`);
  for (let tree = 0; tree < 2; tree++) await (await server.api.start({ task: 'work' })).outcome;
  const ends = (events: SentEvent[]) => events.filter(({ data }) => (data as Fact).type === 'run.ended').length;
  await Promise.all(fast.map((stream) => stream.until((events) => ends(events) === 2)));
  let text = '';
  slow.response.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  const stored = (await server.world.store.facts({})).map(({ position }) => position);
  const sentIds = () => [...text.matchAll(/^id: (\d+)\nevent: fact$/gm)].map(([, position]) => position);
  await expect.poll(() => sentIds().length).toBe(stored.length);
  expect(sentIds()).toEqual(stored);
  for (const { events } of fast) expect(events.filter(({ event }) => event === 'fact').map((event) => event.id)).toEqual(stored);
  for (const stream of [slow, ...fast]) stream.cut();
});
