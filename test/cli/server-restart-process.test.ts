// A server that is restarted while `logs -f --server` watches a run: nothing is lost, nothing comes twice.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createServedPlace } from './support-server.ts';

const script = (turns: number, delayMs: number) => {
  const steps = Array.from({ length: turns }, (_, i) => ({ delayMs, calls: [{ tool: 'read', args: { path: `missing-${i}` } }] }));
  return { runs: [{ steps: [...steps, { text: 'done' }] }] };
};

it.each(['SIGTERM', 'SIGKILL'] as const)('continues after %s and a new start', { timeout: 120_000 }, async (signal) => {
  // The run would take far longer than the test needs until the server is stopped.
  using served = await createServedPlace(script(480, 200));
  const id = (await served.run('run', '--detach', '--max-turns', '500', 'work')).out.trim();
  const watching = served.start('logs', id, '-f', '--json');
  await watching.untilOutput((out) => out.split('\n').length > 20);
  await served.stop(signal);
  const answered = (await served.place.facts(() => true)).filter(({ type }) => type === 'model.answered').length;
  writeFileSync(join(served.place.folder, 'script.json'), JSON.stringify(script(answered + 10, 0)));
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
