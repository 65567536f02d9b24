// A server that is restarted while `logs -f --server` watches a run: nothing is lost, nothing comes twice.
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { createServedPlace } from './support-server.ts';

const steps = Array.from({ length: 30 }, (_, i) => ({ delayMs: 150, calls: [{ tool: 'glob', args: { pattern: `*${i}` } }] }));

it.each(['SIGTERM', 'SIGKILL'] as const)('continues after %s and a new start', { timeout: 120_000 }, async (signal) => {
  using served = await createServedPlace({ runs: [{ steps: [...steps, { text: 'done' }] }] });
  const id = (await served.run('run', '--detach', 'work')).out.trim();
  const watching = served.start('logs', id, '-f', '--json');
  await once(watching.process.stdout as Readable, 'data');
  await served.place.facts((facts) => facts.length > 20);
  await served.stop(signal);
  await served.serve();
  const { code, out, err } = await watching.finished;
  expect(code).toBe(0);
  expect(err).toContain('the connection to the server was lost');
  expect(err).toContain('connected to the server again');
  expect(await served.run('wait', id)).toMatchObject({ code: 0, out: 'done\n' });
  const facts = await served.place.facts((all) => all.some(({ type }) => type === 'run.ended'));
  const seen = out
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { seq: number }).seq);
  expect(seen).toEqual(facts.map(({ seq }) => seq));
  await served.stop();
});
