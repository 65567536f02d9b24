// OpenFork's six lifecycle events, made from the facts and deltas of a real run.
import { expect, it } from 'vitest';
import type { Delta } from '../../src/contract/delta.ts';
import type { Fact } from '../../src/contract/fact.ts';
import { type SubSessionEvent, subSessionEvents } from '../../src/dialects/openfork/events.ts';
import { openfork, subSessionEvents as withSystemClock } from '../../src/main/dialects.ts';
import { createRetinue } from '../../src/main/index.ts';
import { scriptedModel } from '../../src/main/testing.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';

const parentSessionId = '00000000000000aa';
const subSessionId = '00000000000000bb';
const of = { subSessionId, parentSessionId };
const made = (type: string, data: object, runId = subSessionId) => ({ type, runId, data }) as unknown as Fact;
const created = made('run.created', { parentId: parentSessionId, agent: 'openfork/explore' });
const started = made('run.started', {});
const says = (text: string): Delta => ({ type: 'delta', runId: subSessionId, turn: 1, kind: 'text', text });
const asks = made('tool.asked', { tool: 'grep', arguments: { pattern: 'x' }, rejected: null });
const breaks = made('tool.finished', { status: 'error', output: 'it\nbroke' });
const ends = (status: string, more: object = {}) => made('run.ended', { outcome: { status, summary: 'seen', error: null, ...more } });

/** A source of events that the test controls one by one. */
function source() {
  const queue: (Fact | Delta)[] = [];
  let wake = Promise.withResolvers<void>();
  let over = false;
  async function* events() {
    while (!over || queue.length > 0) {
      const next = queue.shift();
      if (next) yield next;
      else {
        await wake.promise;
        wake = Promise.withResolvers();
      }
    }
  }
  return {
    events: events(),
    push(...given: (Fact | Delta)[]) {
      queue.push(...given);
      wake.resolve();
    },
    end() {
      over = true;
      wake.resolve();
    },
  };
}

function collect(events: AsyncIterable<SubSessionEvent>) {
  const seen: SubSessionEvent[] = [];
  const done = (async () => {
    for await (const event of events) seen.push(event);
  })();
  return { seen, done };
}

it('progress is gathered for 16 ms: text is joined, tools and errors keep their order', async () => {
  const clock = createHandClock();
  const from = source();
  const { seen, done } = collect(subSessionEvents(from.events, { clock }));
  from.push(created, started, says('one '), says('two'), asks, says('three'), breaks);
  await clock.advance(15);
  expect(seen.map(({ type }) => type)).toEqual(['SubSessionCreated', 'SubSessionStatusChanged']);
  await clock.advance(1);
  expect(seen.slice(2)).toEqual([
    { type: 'SubSessionProgress', ...of, partType: 'text', content: 'one two' },
    { type: 'SubSessionProgress', ...of, partType: 'tool', content: 'grep {"pattern":"x"}' },
    { type: 'SubSessionProgress', ...of, partType: 'text', content: 'three' },
    { type: 'SubSessionProgress', ...of, partType: 'error', content: 'it broke' },
  ]);
  from.push(says('four'), ends('completed'));
  await clock.advance(0);
  expect(seen.slice(6)).toEqual([
    { type: 'SubSessionProgress', ...of, partType: 'text', content: 'four' },
    { type: 'SubSessionCompleted', ...of, result: 'seen' },
  ]);
  from.end();
  await done;
  expect(clock.pending()).toBe(0);
});

it.each([
  [ends('completed'), { type: 'SubSessionCompleted', ...of, result: 'seen' }],
  [ends('failed', { error: { code: 'loop', message: 'again' } }), { type: 'SubSessionFailed', ...of, error: 'again' }],
  [ends('timed_out', { error: { code: 'deadline', message: 'late' } }), { type: 'SubSessionFailed', ...of, error: 'late' }],
  [ends('exhausted', { error: { code: 'max_turns', message: 'enough' } }), { type: 'SubSessionFailed', ...of, error: 'enough' }],
  [ends('cancelled'), { type: 'SubSessionCancelled', ...of }],
])('the end %#', async (fact, wanted) => {
  const from = source();
  const { seen, done } = collect(subSessionEvents(from.events, { clock: createHandClock() }));
  from.push(made('run.created', { parentId: null, agent: null }, parentSessionId), created, started, fact);
  from.end();
  await done;
  expect(seen).toEqual([
    { type: 'SubSessionCreated', ...of, agentType: 'explore' },
    { type: 'SubSessionStatusChanged', subSessionId, oldStatus: 'Pending', newStatus: 'Running' },
    wanted,
  ]);
});

it('a reader that stops early leaves no timer', async () => {
  const clock = createHandClock();
  const from = source();
  const events = subSessionEvents(from.events, { clock });
  from.push(created, says('x'), started);
  for await (const event of events) if (event.type === 'SubSessionProgress') break;
  from.end();
  expect(clock.pending()).toBe(0);
});

it('BackgroundSubagent_EmitsProgressEvents: through the library, with facts and deltas of a real run', async () => {
  const script = {
    runs: [
      {
        when: { agent: 'openfork/main' },
        steps: [
          { calls: [{ tool: 'task', args: { subagent_type: 'explore', prompt: 'look', description: 'look', run_in_background: true } }] },
          { text: 'waiting' },
          { text: 'done' },
        ],
      },
      {
        when: { agent: 'openfork/explore' },
        steps: [{ text: 'I list', calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'seen it all' }],
      },
    ],
  };
  await using retinue = createRetinue({ model: scriptedModel(script), dialect: openfork() });
  const run = await retinue.delegate({ task: 'work' });
  const seen: SubSessionEvent[] = [];
  for await (const event of withSystemClock(run.events({ tree: true }))) seen.push(event);
  expect(seen[0]).toMatchObject({ type: 'SubSessionCreated', parentSessionId: run.id, agentType: 'explore' });
  expect(seen[1]).toMatchObject({ type: 'SubSessionStatusChanged', oldStatus: 'Pending', newStatus: 'Running' });
  expect(seen.at(-1)).toMatchObject({ type: 'SubSessionCompleted', result: 'I list\nseen it all' });
  const progress = seen.filter((event) => event.type === 'SubSessionProgress');
  expect(progress.find(({ partType }) => partType === 'tool')?.content).toBe('list {"path":"."}');
  expect(
    progress
      .filter(({ partType }) => partType === 'text')
      .map(({ content }) => content)
      .join(''),
  ).toContain('seen it all');
});
