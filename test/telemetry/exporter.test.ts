// The exporter by itself, driven by hand: what it reads and sends, when, and how often.
import { describe, expect, it } from 'vitest';
import { createExporter, type ExporterOptions, type SendResult } from '../../src/telemetry/exporter.ts';
import type { Span } from '../../src/telemetry/span.ts';
import { createWorld, type World } from '../support/world.ts';

const twoRuns = { runs: [{ times: 'any', steps: [{ calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'done' }] }] };
const manyCalls = {
  runs: [
    {
      steps: [...Array(6)]
        .map(() => ({ calls: [...Array(60)].map((_, i) => ({ tool: 'read', args: { path: `${i}` } })) }))
        .concat({ text: 'done' } as never),
    },
  ],
};

interface Bench {
  exporter: ReturnType<typeof createExporter>;
  sent: Span[][];
  problems: string[];
  reads: number;
  /** Delays of timers that are set. */
  timers(): number[];
  /** Fires the timer and waits for what it starts. */
  tick(): Promise<void>;
  answer: (n: number) => SendResult | Promise<SendResult>;
}

function createBench({ store }: World, more: Partial<ExporterOptions> = {}): Bench {
  const timers = new Map<() => void, number>();
  const bench: Bench = {
    sent: [],
    problems: [],
    reads: 0,
    answer: () => ({ ok: true }),
    timers: () => [...timers.values()],
    async tick() {
      const [fire] = timers.keys();
      if (!fire) throw new Error('no timer is set');
      timers.delete(fire);
      fire();
      // Settles within the pass: the memory store and `answer` use no timers.
      for (let n = 0; n < 2_000; n++) await Promise.resolve();
    },
    exporter: createExporter({
      content: false,
      sampling: { ratio: 1, followsCaller: true },
      readFacts: (query) => {
        bench.reads++;
        return store.facts(query);
      },
      findRoot: async (runId) => (await store.run(runId))?.rootId ?? null,
      send: async (spans) => {
        bench.sent.push(spans);
        return bench.answer(bench.sent.length);
      },
      report: (problem) => void bench.problems.push(problem),
      schedule(ms, run) {
        timers.set(run, ms);
        return () => void timers.delete(run);
      },
      ...more,
    }),
  };
  return bench;
}

async function runOnce(world: World, bench: Bench): Promise<string> {
  const stop = world.runtime.listen((event) => {
    if (event.type !== 'delta') bench.exporter.wake(event.runId);
  });
  const { id, outcome } = await world.runtime.start({ task: 'go' });
  await outcome;
  await world.store.facts({});
  stop();
  return id;
}

const count = (bench: Bench) => bench.sent.flat().length;

describe('the exporter', () => {
  it('collects for a second, sends once, and sends nothing again after late news', async () => {
    await using world = await createWorld({ script: twoRuns });
    const bench = createBench(world);
    const id = await runOnce(world, bench);
    expect([bench.timers(), count(bench)]).toEqual([[1000], 0]);
    await bench.tick();
    expect([bench.sent.length, count(bench)]).toEqual([1, 4]);
    bench.exporter.wake(id);
    await bench.tick();
    expect([count(bench), bench.timers()]).toEqual([4, []]);
  });

  it('sends large trees in batches of 256', async () => {
    await using world = await createWorld({ script: manyCalls, limits: { maxTurns: 10 } });
    const bench = createBench(world);
    await runOnce(world, bench);
    await bench.exporter.flush(60_000);
    expect(Math.max(...bench.sent.map((spans) => spans.length))).toBeLessThanOrEqual(256);
    expect(bench.sent.length).toBeGreaterThan(1);
    expect(new Set(bench.sent.flat().map(({ spanId }) => spanId)).size).toBe(count(bench));
  });

  it('sends long texts in several requests', async () => {
    const call = { calls: [{ tool: 'read', args: { path: 'x'.repeat(12_000) } }] };
    await using world = await createWorld({
      script: { runs: [{ steps: [...[...Array(5)].map(() => ({ calls: [...Array(60)].flatMap(() => call.calls) })), { text: 'done' }] }] },
      limits: { maxTurns: 10 },
    });
    const bench = createBench(world, { content: true });
    await runOnce(world, bench);
    await bench.exporter.flush(60_000);
    const sizes = bench.sent.map((spans) => JSON.stringify(spans).length);
    expect(count(bench)).toBeLessThan(256);
    expect(sizes.length).toBeGreaterThan(1);
    expect(Math.max(...sizes)).toBeLessThan(3_000_000);
  });

  it('sends the same spans again, ever later, reports the first failure alone, and then goes on', async () => {
    await using world = await createWorld({ script: twoRuns });
    const bench = createBench(world);
    bench.answer = (n) => (n < 9 ? { ok: false, again: true, reason: 'it is down' } : { ok: true });
    await runOnce(world, bench);
    const delays: number[] = [];
    for (let n = 0; n < 9; n++) {
      delays.push(...bench.timers());
      await bench.tick();
    }
    expect(delays).toEqual([1000, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
    expect(bench.problems).toEqual(['it is down']);
    expect(new Set(bench.sent.map((spans) => spans.map(({ spanId }) => spanId).join())).size).toBe(1);
    expect(bench.timers()).toEqual([]);
    await runOnce(world, bench);
    await bench.tick();
    expect(bench.sent).toHaveLength(10);
  });

  it('drops what the receiver refuses for good', async () => {
    await using world = await createWorld({ script: twoRuns });
    const bench = createBench(world);
    bench.answer = (n) => (n === 1 ? { ok: false, again: false, reason: 'HTTP 400' } : { ok: true });
    await runOnce(world, bench);
    await bench.tick();
    expect([bench.sent.length, bench.timers()]).toEqual([1, []]);
    await runOnce(world, bench);
    await bench.tick();
    expect(bench.sent).toHaveLength(2);
  });

  it('gives up at the end: one try, and no longer than it is given', async () => {
    await using world = await createWorld({ script: twoRuns });
    const failing = createBench(world);
    failing.answer = () => ({ ok: false, again: true, reason: 'it is down' });
    await runOnce(world, failing);
    await failing.exporter.flush(2_000);
    expect([failing.sent.length, failing.timers(), failing.problems]).toEqual([1, [], ['it is down']]);

    const aborted: boolean[] = [];
    const { promise: sending, resolve } = Promise.withResolvers<void>();
    const stuck = createBench(world, {
      send: (_, signal) =>
        new Promise((done) => {
          resolve();
          signal.addEventListener('abort', () => {
            aborted.push(true);
            done({ ok: false, again: true, reason: 'aborted' });
          });
        }),
    });
    await runOnce(world, stuck);
    const flushed = stuck.exporter.flush(2_000);
    await sending;
    expect(stuck.timers()).toEqual([2_000]);
    await stuck.tick();
    await flushed;
    expect([aborted, stuck.problems, stuck.timers()]).toEqual([[true], ['not everything could be sent within 2 s'], []]);
  });

  it('does not read a tree again for each of its runs', async () => {
    const children = [...Array(8)].map((_, i) => ({ task: `do ${i}`, agent: 'explore' }));
    await using world = await createWorld({
      script: {
        runs: [
          { when: { agent: 'general' }, steps: [{ calls: [{ tool: 'delegate', args: { tasks: children } }] }, { text: 'done' }] },
          { when: { agent: 'explore' }, times: 'any', steps: [{ text: 'looked' }] },
        ],
      },
    });
    const bench = createBench(world);
    await runOnce(world, bench);
    await bench.exporter.flush(60_000);
    expect(bench.sent.flat().filter(({ name }) => name.startsWith('invoke_agent'))).toHaveLength(9);
    expect(bench.reads).toBe(1);
  });

  it('reports a log that cannot be read', async () => {
    await using world = await createWorld({});
    const bench = createBench(world, { readFacts: () => Promise.reject(new Error('the disk is gone')) });
    await runOnce(world, bench);
    await bench.tick();
    expect(bench.problems).toEqual(['the log cannot be read: the disk is gone']);
  });
});
