// Which runs count as trees: roots that are agents, and what a client delegated.
import { expect, it } from 'vitest';
import type { NotifyMessage } from '../../src/notify/message.ts';
import { watchForNotifications } from '../../src/notify/watch.ts';
import { createWorld, type World } from '../support/world.ts';

const tasks = [{ task: 'do a', label: 'child', agent: 'explore' }];
const script = {
  runs: [
    { when: { label: 'child' }, times: 'any', steps: [{ text: 'a is done' }] },
    { times: 'any', steps: [{ calls: [{ tool: 'delegate', args: { tasks } }] }, { text: 'x'.repeat(5_000) }] },
  ],
};

function watch({ runtime, store }: World) {
  const messages: NotifyMessage[] = [];
  const settle = watchForNotifications(
    { watch: (listener) => runtime.listen(listener) },
    {
      settings: {},
      origin: { workspace: '/work', db: '/work/x.db' },
      findRow: (runId) => store.run(runId),
      notify: (message) => messages.push(message),
    },
  );
  return { messages, settle };
}

it('a root is one, its children are not; a long summary is cut', async () => {
  await using world = await createWorld({ script });
  const { messages, settle } = watch(world);
  const { id, outcome } = await world.runtime.start({ task: 'go' });
  await outcome;
  await settle();
  expect(messages).toMatchObject([{ event: 'ended', runId: id, summaryCut: true }]);
  expect((messages[0] as { summary: string }).summary).toHaveLength(4_000);
});

it('what a client delegated is one; the client and the children below are not', async () => {
  await using world = await createWorld({ script, limits: { maxDepth: 2 } });
  const { messages, settle } = watch(world);
  const client = await world.runtime.openClient();
  const handle = await client.delegate({ task: 'go', label: 'delegated' });
  await handle.outcome;
  await client.close();
  await settle();
  expect(world.facts.filter(({ type }) => type === 'run.ended')).toHaveLength(3);
  expect(messages.map(({ event, runId, label }) => [event, runId, label])).toEqual([['ended', handle.id, 'delegated']]);
});
