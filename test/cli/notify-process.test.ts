// Notifications through the real program: a real command and a real webhook of the user.
import { createHmac } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createPlace, type Place } from './support-process.ts';

const tasks = [{ task: 'do a', label: 'child', agent: 'explore' }];
const tree = {
  runs: [
    { when: { label: 'child' }, steps: [{ text: 'a is done' }] },
    { times: 'any', steps: [{ calls: [{ tool: 'delegate', args: { tasks } }] }, { text: 'all\u001b[31m done\u202e' }] },
  ],
};
const asking = { runs: [{ steps: [{ calls: [{ tool: 'write', args: { path: 'a.txt', content: 'x' } }] }, { text: 'done' }] }] };

/** Appends what it was given to a file beside it. */
const recorder = `
import { appendFileSync, readFileSync } from 'node:fs';
const entry = { message: JSON.parse(readFileSync(0, 'utf8')), env: process.env, args: process.argv.slice(2), cwd: process.cwd() };
appendFileSync(import.meta.dirname + '/told.jsonl', JSON.stringify(entry) + '\\n');
`;

interface Told {
  message: Record<string, unknown>;
  env: Record<string, string>;
  args: string[];
  cwd: string;
}

function configure(place: Place, notify: object, more: object = {}): void {
  const folder = join(place.folder, '.config', 'retinue');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ notify, ...more }));
  writeFileSync(join(place.folder, 'record.mjs'), recorder);
}

const recordWith = (place: Place) => [process.execPath, join(place.folder, 'record.mjs'), '$HOME; echo'];

function told({ folder }: Place): Told[] {
  const file = join(folder, 'told.jsonl');
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Told);
}

describe('a notification command', () => {
  it('gets one message for a whole tree, without control characters, and an environment without keys', async () => {
    using place = createPlace(tree, { ANTHROPIC_API_KEY: 'canary', SOME_TOKEN: 'canary' });
    configure(place, { command: recordWith(place) });
    const { code, err } = await place.run('run', '--label', 'my \u001b]0;title\u0007survey', 'go');
    expect(code, err).toBe(0);
    const [entry, ...others] = told(place);
    expect(others).toEqual([]);
    const { message, env, args, cwd } = entry as Told;
    expect(message).toMatchObject({
      ...{ version: 1, event: 'ended', id: `${message.runId}.ended`, status: 'completed', success: true, label: 'my survey' },
      ...{ summary: 'all done⟦U+202E⟧', summaryCut: false, error: null, turns: 2, workspace: realpathSync(place.folder) },
      ...{ durationMs: expect.any(Number), untrusted: expect.arrayContaining(['label', 'summary', 'text']) },
    });
    expect(message.text).toMatch(/^completed: my survey \(/);
    expect(JSON.stringify(env)).not.toContain('canary');
    expect(env).toMatchObject({ RETINUE_NOTIFY_EVENT: 'ended', RETINUE_NOTIFY_STATUS: 'completed', RETINUE_NOTIFY_RUN: message.runId });
    // No shell has expanded it.
    expect(args).toEqual(['$HOME; echo']);
    expect(cwd).toBe(realpathSync(place.folder));
  });

  it('is told about a call that waits for approval, with the id to answer it, and then about the end', async () => {
    using place = createPlace(asking);
    configure(place, { command: recordWith(place) }, { rules: ['ask write'] });
    const running = place.start('run', '--ask', '10m', 'go');
    await expect.poll(() => told(place).length, { timeout: 10_000 }).toBe(1);
    const [{ message }] = told(place) as [Told];
    expect(message).toMatchObject({
      event: 'question',
      tool: 'write',
      call: 'write a.txt',
      rule: 'ask write',
      expiresAt: expect.any(String),
    });
    await place.run('approve');
    expect((await place.run('approve', String(message.questionId))).code).toBe(0);
    expect((await running.finished).code).toBe(0);
    expect(told(place).map((entry) => entry.message.event)).toEqual(['question', 'ended']);
  });

  it('is told once about a tree that was killed and resumed, and about its open question', async () => {
    using place = createPlace(asking);
    configure(place, { command: recordWith(place) }, { rules: ['ask write'] });
    const running = place.start('run', '--ask', '10m', 'go');
    await expect.poll(() => told(place).length, { timeout: 10_000 }).toBe(1);
    running.process.kill('SIGKILL');
    await running.finished;
    const resumed = place.start('resume', '--ask', '10m');
    await place.facts((facts) => facts.some(({ type }) => type === 'run.resumed'));
    await place.run('approve');
    await place.run('approve', String(told(place)[0]?.message.questionId));
    expect((await resumed.finished).code).toBe(0);
    expect(told(place).map((entry) => entry.message.event)).toEqual(['question', 'ended']);
  });

  it('is told by the process of a detached run, and only about the wanted events', async () => {
    using place = createPlace(tree);
    configure(place, { command: recordWith(place), on: ['ended'] });
    const { out } = await place.run('run', '--detach', 'go');
    await place.run('wait', out.trim());
    await expect.poll(() => told(place).map(({ message }) => message.runId), { timeout: 10_000 }).toEqual([out.trim()]);
    configure(place, { command: recordWith(place), on: [] });
    expect((await place.run('run', 'go')).code).toBe(0);
    expect(told(place)).toHaveLength(1);
  });

  const failures: [command: string[], says: RegExp][] = [
    [['/nowhere/at-all'], /ENOENT/],
    [[process.execPath, '-e', 'console.error("no \\x1b[2Jbus"); process.exit(3)'], /it ended with code 3: no bus\n/],
  ];
  it.each(failures)('that fails is one line on standard error, and the run is not affected: %j', async (command, says) => {
    using place = createPlace(tree);
    configure(place, { command });
    const { code, out, err } = await place.run('run', 'go');
    expect([code, out]).toEqual([0, 'all done⟦U+202E⟧\n']);
    expect(err.split('\n').filter((line) => line.includes('notification command'))).toHaveLength(1);
    expect(err).toMatch(says);
  });
});

describe('a webhook', () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  async function listen(answers: number[]): Promise<{ url: string; requests: { body: string; signature: unknown; path: string }[] }> {
    const requests: { body: string; signature: unknown; path: string }[] = [];
    const server = createServer(async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      requests.push({ body: Buffer.concat(parts).toString(), signature: request.headers['x-retinue-signature'], path: request.url ?? '' });
      const status = answers[requests.length - 1] ?? 200;
      response.writeHead(status, { connection: 'close', ...(status === 302 ? { location: '/other' } : {}) }).end();
    });
    servers.push(server);
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret-path`, requests };
  }

  it('gets the same signed message again until it is accepted', async () => {
    const { url, requests } = await listen([503, 200]);
    using place = createPlace(tree, { HOOK_KEY: 'a key of the user' });
    configure(place, { webhook: url, webhookSecretEnv: 'HOOK_KEY' });
    const { code, err } = await place.run('run', 'go');
    expect([code, err]).toEqual([0, expect.not.stringContaining('notification')]);
    expect(requests).toHaveLength(2);
    expect(requests[0]).toEqual(requests[1]);
    const { body, signature } = requests[0] as (typeof requests)[0];
    expect(signature).toBe(`sha256=${createHmac('sha256', 'a key of the user').update(body).digest('hex')}`);
    expect(JSON.parse(body)).toMatchObject({ event: 'ended', status: 'completed' });
  });

  it('that redirects is not followed, and its address is not printed', async () => {
    const { url, requests } = await listen([302]);
    using place = createPlace(tree);
    configure(place, { webhook: url });
    const { code, err } = await place.run('run', 'go');
    expect([code, requests.length]).toEqual([0, 1]);
    expect(err).toMatch(
      /the notification webhook of run [0-9a-f]{16} failed: it answered with a redirect \(302\), which is not followed\n/,
    );
    expect(err).not.toContain('secret-path');
    expect((await place.run('config')).out).toMatch(/notify\.webhook +http:\/\/127\.0\.0\.1:\d+\/… /);
  });

  it('is not called without a signature if one is configured', async () => {
    const { url, requests } = await listen([]);
    using place = createPlace(tree);
    configure(place, { webhook: url, webhookSecretEnv: 'HOOK_KEY' });
    const { code, err } = await place.run('run', 'go');
    expect([code, requests]).toEqual([0, []]);
    expect(err).toContain('the variable HOOK_KEY is not set');
  });

  it('can be tested with `notify test`', async () => {
    const { url, requests } = await listen([200, 404]);
    using place = createPlace(tree);
    expect(await place.run('notify', 'test')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/no notifications are configured; set/),
    });
    configure(place, { webhook: url, command: recordWith(place) });
    expect(await place.run('notify', 'test')).toMatchObject({ code: 0, out: '✓ command: sent\n✓ webhook: sent\n' });
    expect(requests.map(({ body }) => JSON.parse(body).event)).toEqual(['test']);
    const second = await place.run('notify', 'test', '--json');
    expect([second.code, JSON.parse(second.out)]).toEqual([
      1,
      [
        { to: 'command', failure: null },
        { to: 'webhook', failure: 'it answered with 404' },
      ],
    ]);
  });
});

describe('the configuration of a workspace', () => {
  it('cannot set notifications, even if it is trusted', async () => {
    using place = createPlace(tree);
    mkdirSync(join(place.folder, 'repository'));
    writeFileSync(join(place.folder, 'record.mjs'), recorder);
    const file = join(place.folder, 'repository', 'retinue.config.json');
    writeFileSync(file, JSON.stringify({ notify: { command: recordWith(place) }, limits: { maxTurns: 100 } }));
    writeFileSync(join(place.folder, 'repository', 'script.json'), JSON.stringify(tree));
    expect((await place.run('trust', '--yes', '-C', 'repository')).code).toBe(0);
    const { code, err } = await place.run('run', '-C', 'repository', 'go');
    expect([code, err]).toEqual([0, expect.stringContaining('only your own configuration decides who is notified')]);
    expect(told(place)).toEqual([]);
  });

  const invalid: [notify: object, says: RegExp][] = [
    [{ command: ['./notify.sh'] }, /must begin with an absolute path/],
    [{ command: 'notify-send x' }, /must be a list/],
    [{ webhook: 'http://example.com/x' }, /must be an https address/],
    [{ webhook: 'https://user:canary@example.com/x' }, /must be an https address without user name and password/],
    [{ webhookSecretEnv: 'a secret' }, /must be the name of a variable/],
    [{ on: ['end'] }, /must be one of ended, question; did you mean `ended`\?/],
  ];
  it.each(invalid)('of the user is checked: %j', async (notify, says) => {
    using place = createPlace(tree);
    configure(place, notify);
    const { code, err } = await place.run('config');
    expect([code, err]).toEqual([2, expect.stringMatching(says)]);
    expect(err).not.toContain('canary');
  });
});
