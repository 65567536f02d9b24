// `retinue serve` in one workspace, runs of another one: seen, approved, cancelled and started through the same server, each with its own settings.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createPlace, type Place, type Running } from './support-process.ts';

let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'retinue-home-')));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const asking = {
  runs: [
    {
      when: { label: 'asks' },
      times: 'any',
      steps: [{ calls: [{ tool: 'write', args: { path: 'a.txt', content: 'x' } }] }, { text: 'written' }],
    },
    { when: { label: 'hangs' }, times: 'any', steps: [{ hang: 'start' }] },
    { times: 'any', steps: [{ text: 'of this workspace' }] },
  ],
};

interface Server {
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body?: object): Promise<T>;
  status(path: string): Promise<number>;
  running: Running;
}

interface Printed {
  url: string;
  token: string | null;
  link: string | null;
}

/** With the session of the link, as a browser, or with the token of the file. `as: 'token'`: with the token that the server printed. */
async function serve(place: Place, args: string[] = [], { as = 'page' }: { as?: 'page' | 'token' } = {}): Promise<Server> {
  const command = args[0] === 'mcp' ? args : ['serve', ...args];
  const running = place.start(...command, '--json');
  const line = await running.untilOutput((out) => out.includes('\n'));
  const { url, token, link } = JSON.parse(line) as Printed;
  const bearer = { authorization: `Bearer ${token ?? 'a-token-that-is-long-enough-to-be-used'}` };
  const headers = link !== null && as === 'page' ? await openPage(link) : bearer;
  const request = (path: string, init: RequestInit = {}) => fetch(url + path, { ...init, headers: { ...headers, ...init.headers } });
  const json = async (response: Response): Promise<never> => {
    const value = await response.json();
    if (!response.ok) throw new Error(JSON.stringify(value));
    return value as never;
  };
  return {
    get: async (path) => json(await request(path)),
    post: async (path, body = {}) =>
      json(await request(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })),
    status: async (path) => (await request(path)).status,
    running,
  };
}

async function openPage(link: string): Promise<Record<string, string>> {
  const { headers } = await fetch(link, { redirect: 'manual' });
  const cookie = headers.get('set-cookie')?.split(';', 1)[0] ?? '';
  return { cookie, 'retinue-page-key': headers.get('location')?.split('=')[1] ?? '', 'sec-fetch-site': 'same-origin' };
}

type Row = { runId: string; label: string; status: string };
type Listed = { id: string; path: string; live: number; questions: number };

it('a run of another workspace is seen, approved and cancelled', async () => {
  using a = createPlace(asking, { HOME: home });
  using b = createPlace(asking, { HOME: home });
  writeFileSync(join(b.folder, 'ask.json'), JSON.stringify({ rules: ['ask write'] }));
  const asks = b.start('run', '--label', 'asks', '--ask', '10m', '--config', 'ask.json', 'go');
  const hangs = b.start('run', '--label', 'hangs', 'go');
  await b.facts(
    (facts) => facts.some(({ type }) => type === 'approval.asked') && facts.filter(({ type }) => type === 'model.asked').length === 2,
  );
  const server = await serve(a);

  const listed = await server.get<Listed[]>('/api/workspaces');
  expect(listed.map(({ path, live, questions }) => [path, live, questions])).toEqual([
    [realpathSync(a.folder), 0, 0],
    [realpathSync(b.folder), 2, 1],
  ]);
  const { id } = listed[1] as Listed;
  const at = `workspace=${id}`;
  expect(await server.get<Row[]>('/api/runs')).toEqual([]);
  const rows = await server.get<Row[]>(`/api/runs?${at}`);
  expect(rows.map(({ label }) => label).sort()).toEqual(['asks', 'hangs']);

  const [question] = await server.get<{ id: string; hash: string }[]>(`/api/questions?${at}`);
  expect(await server.post(`/api/questions/${question?.id}?${at}`, { allowed: true, hash: question?.hash })).toMatchObject({
    result: 'answered',
  });
  expect(await asks.finished).toMatchObject({ code: 0, out: 'written\n' });

  const hanging = rows.find(({ label }) => label === 'hangs')?.runId;
  expect(await server.post(`/api/runs/${hanging}/cancel?${at}`, {})).toEqual({ runId: hanging, result: 'asked' });
  expect((await hangs.finished).code).toBe(130);
  expect((await server.get<Listed[]>('/api/workspaces'))[1]).toMatchObject({ live: 0, questions: 0 });
  expect(await server.status('/api/runs?workspace=000000000000')).toBe(400);

  server.running.process.kill('SIGINT');
  expect((await server.running.finished).code).toBe(0);
});

it('a run that is started in another workspace has the settings of that one, and none starts if they are invalid', async () => {
  using a = createPlace({ runs: [{ steps: [{ text: 'of the wrong workspace' }] }] }, { HOME: home });
  using b = createPlace(asking, { HOME: home });
  await b.run('run', 'go');
  const server = await serve(a);
  const other = (await server.get<Listed[]>('/api/workspaces'))[1] as Listed;
  const { runId } = await server.post<{ runId: string }>(`/api/runs?workspace=${other.id}`, { task: 'again' });
  const shown = async () =>
    (await server.get<{ outcome: { summary: string } | null }>(`/api/runs/${runId}?workspace=${other.id}`)).outcome?.summary;
  await expect.poll(shown, { timeout: 10_000 }).toBe('of this workspace');
  server.running.process.kill('SIGINT');
  await server.running.finished;

  writeFileSync(join(b.folder, 'retinue.config.json'), '{ "limits": 7 }');
  const second = await serve(a);
  expect(await second.get<Row[]>(`/api/runs?workspace=${other.id}&all=true`)).toHaveLength(2);
  await expect(second.post(`/api/runs?workspace=${other.id}`, { task: 'again' })).rejects.toThrow(/limits/);
  second.running.process.kill('SIGINT');
  expect((await second.running.finished).err).toMatch(/no runs can be started: .*limits/);
});

it('a token of a token file is for one workspace, unless the user says otherwise', async () => {
  using a = createPlace(asking, { HOME: home });
  using b = createPlace(asking, { HOME: home });
  await b.run('run', 'go');
  writeFileSync(join(a.folder, 'tokens'), 'a-token-that-is-long-enough-to-be-used read\n', { mode: 0o600 });
  const open = await serve(a, ['--token-file', 'tokens', '--everywhere']);
  const listed = await open.get<Listed[]>('/api/workspaces');
  expect(listed).toHaveLength(2);
  open.running.process.kill('SIGINT');
  await open.running.finished;
  const server = await serve(a, ['--token-file', 'tokens']);
  expect(await server.get<Listed[]>('/api/workspaces')).toMatchObject([{ path: realpathSync(a.folder) }]);
  expect(await server.status(`/api/runs?workspace=${listed[1]?.id}`)).toBe(403);
  server.running.process.kill('SIGINT');
  await server.running.finished;
});

it.each([
  ['the token that it prints', [], 'token', 403],
  ['the same with --everywhere', ['--everywhere'], 'token', 200],
  ['the link of `retinue mcp --http`', ['mcp', '--http'], 'page', 403],
] as const)('%s opens other workspaces or not', async (_, args, as, status) => {
  using a = createPlace(asking, { HOME: home });
  using b = createPlace(asking, { HOME: home });
  await b.run('run', 'go');
  const all = await serve(a);
  const { id } = (await all.get<Listed[]>('/api/workspaces'))[1] as Listed;
  all.running.process.kill('SIGINT');
  await all.running.finished;
  const server = await serve(a, [...args], { as });
  expect(await server.get<Listed[]>('/api/workspaces')).toHaveLength(status === 200 ? 2 : 1);
  expect(await server.status(`/api/runs?workspace=${id}`)).toBe(status);
  expect(await server.status('/api/runs')).toBe(200);
  server.running.process.kill('SIGINT');
  await server.running.finished;
});
