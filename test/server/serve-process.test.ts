// `retinue serve` as a real process: started, used, stopped and started again.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Fact } from '../../src/contract/fact.ts';
import { createPlace, type Place, type Running } from '../cli/support-process.ts';
import { openStream } from './sse.ts';
import { ask, type RequestOptions, tokenOf } from './support.ts';

interface Served {
  process: Running;
  url: string;
  token: string | null;
  link: string | null;
  ask(path: string, options?: RequestOptions): ReturnType<typeof ask>;
  /** Sends the signal and waits for the end. */
  stop(signal?: NodeJS.Signals): ReturnType<Place['run']>;
}

async function serve(place: Place, ...args: string[]): Promise<Served> {
  const process = place.start('serve', '--json', ...args);
  const [line] = (await process.untilOutput((out) => out.includes('\n'))).split('\n', 1);
  const { url, token, link } = JSON.parse(line as string);
  return {
    ...{ process, url, token, link },
    ask: (path, options) => ask(url, path, { token, ...options }),
    async stop(signal = 'SIGINT') {
      process.process.kill(signal);
      return process.finished;
    },
  };
}

const survey = { RETINUE_MODEL: 'offline/surveyor' };
const waits = { runs: [{ times: 'any', steps: [{ delayMs: 600_000, text: 'late' }] }] };
const answers = { runs: [{ times: 'any', steps: [{ text: 'the answer' }] }] };

/** The script of processes that start later; a run keeps the one that it has begun with. */
function changeScript({ folder }: Place, script: object): void {
  writeFileSync(join(folder, 'script.json'), JSON.stringify(script));
}

it('is used, stopped with Ctrl-C and started again, and everything is found again', async () => {
  using place = createPlace({ runs: [] }, survey);
  mkdirSync(join(place.folder, 'src'));
  writeFileSync(join(place.folder, 'src', 'a.ts'), 'export {};\n');
  const first = await serve(place);
  expect(first.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(first.token).toMatch(/^[\w-]{43}$/);
  // The link has a code of its own, which is no token.
  expect(first.link?.replace(/=[\w-]{43}$/, '=CODE')).toBe(`${first.url}/?token=CODE`);
  const code = first.link?.slice(-43) as string;
  expect((await first.ask('/api/runs', { token: code })).status).toBe(401);
  expect((await first.ask(`/?token=${first.token}`, { token: null })).status).toBe(401);
  const { runId } = (await first.ask('/api/runs', { body: { task: 'survey' } })).json() as { runId: string };
  await place.facts((facts) => facts.some((fact) => fact.type === 'run.ended' && fact.runId === runId));
  const before = await first.ask(`/api/runs/${runId}/facts?tree=1`);
  expect(await first.stop()).toMatchObject({ code: 0, err: expect.stringContaining('stopping; press Ctrl-C again to exit at once') });

  const second = await serve(place);
  expect(second.token).not.toBe(first.token);
  expect((await second.ask('/api/runs', { token: first.token })).status).toBe(401);
  expect((await second.ask(`/api/runs/${runId}/facts?tree=1`)).json()).toEqual(before.json());
  expect((await second.ask('/api/runs?all=1&roots=1')).json()).toMatchObject([{ runId, status: 'completed' }]);
  const [workspace] = (await second.ask('/api/workspaces')).json() as [{ id: string; path: string }];
  expect(workspace.path).toBe(place.folder);
  expect((await second.ask(`/api/runs?all=1&workspace=${workspace.id}`)).json()).toHaveLength(2 + 1);
  expect(await second.stop('SIGTERM')).toMatchObject({ code: 0 });
});

it('pauses what runs at Ctrl-C, and the next server continues it', async () => {
  using place = createPlace(waits);
  const first = await serve(place);
  const { runId } = (await first.ask('/api/runs', { body: { task: 'wait' } })).json() as { runId: string };
  await place.facts((facts) => facts.some(({ type }) => type === 'model.asked'));
  const stream = await openStream(first.url, `/api/events?tree=${runId}`, { token: first.token as string });
  expect(await first.stop()).toMatchObject({ code: 0 });
  await stream.ended;
  changeScript(place, answers);
  const second = await serve(place);
  const facts = await place.facts((all) => all.some(({ type }) => type === 'run.ended'));
  expect(facts.map(({ type }) => type)).toEqual(expect.arrayContaining(['run.paused', 'run.resumed']));
  expect((await second.ask(`/api/runs/${runId}/outcome`)).json()).toMatchObject({ status: 'completed', summary: 'the answer' });
  expect((await second.stop()).err).toContain(`continuing the interrupted run ${runId.slice(0, 8)}`);
});

/** Starts `retinue run` and kills it during its first model call, which would never end. The next process finds a script that answers. */
async function killRun(place: Place, ...args: string[]): Promise<string> {
  changeScript(place, waits);
  const known = (await place.facts(() => true)).length;
  const run = place.start('run', ...args);
  const facts = await place.facts((all) => all.slice(known).some(({ type }) => type === 'model.asked'));
  changeScript(place, answers);
  run.process.kill('SIGKILL');
  await run.finished;
  return facts[known]?.runId as string;
}

it('continues trees whose process was killed, before its start and later, and names one that cannot be continued', async () => {
  using place = createPlace(waits);
  writeFileSync(join(place.folder, 'other.json'), JSON.stringify(waits));
  const lost = await killRun(place, '--model', 'script/other.json', 'lost');
  rmSync(join(place.folder, 'other.json'));
  const before = await killRun(place, 'work');
  const server = await serve(place);
  const ended = (id: string) => place.facts((facts) => facts.some(({ type, runId }) => type === 'run.ended' && runId === id));
  await ended(before);
  const later = await killRun(place, 'work');
  await ended(later);
  expect((await server.ask('/api/runs?all=1')).json()).toMatchObject([
    { runId: later, status: 'completed' },
    { runId: before, status: 'completed' },
    { runId: lost, status: 'interrupted' },
  ]);
  const { err } = await server.stop();
  expect(err).toContain(`the interrupted run ${lost.slice(0, 8)} cannot be continued: `);
  expect(err.match(/continuing the interrupted run/g)).toHaveLength(2);
});

it('keeps a pause that somebody ordered across a restart', async () => {
  // Far more steps than the test takes: each of them is a moment at which the run can pause.
  const steps = Array.from({ length: 450 }, (_, i) => ({ delayMs: 200, calls: [{ tool: 'read', args: { path: `missing-${i}` } }] }));
  using place = createPlace({ runs: [{ times: 'any', steps: [...steps, { text: 'done' }] }] });
  const first = await serve(place);
  const brief = { task: 'work', limits: { maxTurns: 500 } };
  const { runId } = (await first.ask('/api/runs', { body: brief })).json() as { runId: string };
  expect((await first.ask(`/api/runs/${runId}/pause`, { body: {} })).json()).toEqual({ runId, result: 'paused' });
  await first.stop();
  const second = await serve(place);
  await second.ask('/api/workspaces');
  expect((await second.ask('/api/runs')).json()).toMatchObject([{ runId, status: 'paused' }]);
  expect((await second.ask(`/api/runs/${runId}/resume`, { body: {} })).json()).toEqual({ runId, result: 'resumed' });
  expect((await second.ask(`/api/runs/${runId}/cancel`, { body: {} })).json()).toMatchObject({ result: 'asked' });
  await second.stop();
});

it('sends the facts of a run in another process', async () => {
  using place = createPlace({ runs: [{ times: 'any', steps: [{ text: 'said' }] }] });
  const server = await serve(place);
  const stream = await openStream(server.url, '/api/events', { token: server.token as string });
  const { out } = await place.run('run', 'speak', '--json');
  await stream.until((events) => (events.at(-1)?.data as Fact | undefined)?.type === 'run.ended');
  const facts = stream.events.filter(({ event }) => event === 'fact').map(({ data }) => data as Fact);
  expect(facts[0]).toMatchObject({ runId: JSON.parse(out).runId, type: 'run.created' });
  expect(facts.map(({ seq }) => seq)).toEqual(facts.map((_, i) => i + 1));
  stream.cut();
  await server.stop();
});

it('refuses another interface without tokens of its own and TLS', async () => {
  using place = createPlace({ runs: [] });
  const { code, out, err } = await place.run('serve', '--json', '--host', '0.0.0.0');
  expect([code, out]).toEqual([2, '']);
  expect(err).toContain('--token-file FILE and --tls-cert FILE --tls-key FILE');
});

it('serves with the tokens of a file, also behind a proxy on all interfaces', async () => {
  using place = createPlace(waits);
  writeFileSync(join(place.folder, 'tokens'), `${tokenOf('read')} read the wall\n${tokenOf('start')}\n`, { mode: 0o600 });
  const proxy = ['--host', '0.0.0.0', '--behind-proxy', '--public-url', 'https://retinue.example.org'];
  const server = await serve(place, '--token-file', 'tokens', '--port', '0', ...proxy);
  expect(server).toMatchObject({ url: 'https://retinue.example.org', token: null, link: null });
  await server.stop();
  const local = await serve(place, '--token-file', 'tokens');
  const role = async (token: string) => ((await local.ask('/api/server', { token })).json() as { role: string }).role;
  expect([await role(tokenOf('read')), await role(tokenOf('start'))]).toEqual(['read', 'start']);
  await local.stop();
});

it('starts the demo and prints a link', async () => {
  using place = createPlace({ runs: [] }, survey);
  const demo = place.start('demo', '--serve');
  const facts = await place.facts((all) => all.some(({ type }) => type === 'model.asked'));
  expect(facts[0]).toMatchObject({ type: 'run.created', data: { model: 'offline/slow-surveyor' } });
  demo.process.kill('SIGINT');
  const { code, out } = await demo.finished;
  expect(code).toBe(0);
  expect(out).toMatch(/Open in a browser:\n {2}http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{43}\n/);
});

it('removes its own tokens from what models read and from the log', async () => {
  const read = { runs: [{ times: 'any', steps: [{ calls: [{ tool: 'read', args: { path: 'notes.txt' } }] }, { text: 'done' }] }] };
  using place = createPlace(read);
  const { token, link, ask: askServer, stop } = await serve(place);
  const code = link?.slice(-43) as string;
  writeFileSync(join(place.folder, 'notes.txt'), `the token is ${token}, the code is ${code}\n`);
  await askServer('/api/runs', { body: { task: `read notes.txt, not ${token}` } });
  const facts = JSON.stringify(await place.facts((all) => all.some(({ type }) => type === 'run.ended')));
  expect(facts).toContain('the token is [secret of retinue serve], the code is [secret of retinue serve]');
  expect(facts).not.toContain(token);
  expect(facts).not.toContain(code);
  await stop();
});
