// Commands with `--server` against a real `retinue serve`, from a folder that has nothing of its own.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Fact } from '../../src/contract/fact.ts';
import { serve } from '../client/support.ts';
import { createCli } from './support.ts';
import { createPlace } from './support-process.ts';
import { createServedPlace, isUntouched, type ServedPlace, token } from './support-server.ts';

const write = { calls: [{ tool: 'write', args: { path: 'notes.txt', content: 'hello\n' } }] };
const script = {
  runs: [
    { when: { task: 'write' }, times: 'any', steps: [write, { text: 'written' }] },
    { when: { task: 'wait' }, times: 'any', steps: [{ delayMs: 600_000, text: 'late' }] },
    { when: { agent: 'explore' }, times: 'any', steps: [{ text: 'seven' }] },
    {
      when: { task: 'survey' },
      times: 'any',
      steps: [
        { calls: [{ tool: 'delegate', args: { tasks: [{ task: 'count', agent: 'explore', label: 'counter' }] } }] },
        { text: 'all counted' },
      ],
    },
    {
      when: { task: 'work' },
      times: 'any',
      // Far more than the test takes; each step is a moment at which the run can pause.
      steps: Array.from({ length: 450 }, (_, i) => ({ delayMs: 200, calls: [{ tool: 'read', args: { path: `missing-${i}` } }] })),
    },
    { times: 'any', steps: [{ text: 'done' }] },
  ],
};

let served: ServedPlace;
beforeAll(async () => {
  served = await createServedPlace(script, { rules: ['ask write'] });
}, 60_000);
afterAll(async () => {
  await served.stop();
  served[Symbol.dispose]();
});

/** The id of a run that the server has started in the background. */
async function startDetached(...args: string[]): Promise<string> {
  const { code, out } = await served.run('run', '--detach', ...args);
  expect(code).toBe(0);
  return out.trim();
}

const untilFact = (type: Fact['type'], id: string) =>
  served.place.facts((facts) => facts.some((fact) => fact.type === type && fact.runId === id));

/** Waits for the first model call of the run with this label. */
async function untilAsked(label: string): Promise<void> {
  const isCreated = (fact: Fact) => fact.type === 'run.created' && fact.data.brief.label === label;
  const created = (await served.place.facts((facts) => facts.some(isCreated))).find(isCreated) as Fact;
  await untilFact('model.asked', created.runId);
}

const json = async <T>(...args: string[]) => JSON.parse((await served.run(...args, '--json')).out) as T;

describe('commands with --server', { timeout: 60_000 }, () => {
  it('start a run there and show it here', async () => {
    const { code, out, err } = await served.run('run', 'survey');
    expect([code, out]).toEqual([0, 'all counted\n']);
    expect(err).toMatch(/child \w{8} · explore · counter/);
    expect(err).toContain(`--server ${served.url()}`);
    expect((await served.place.run('show', 'last')).out, 'the run is in the database of the server').toContain('all counted');
    const outcome = await json<{ status: string; summary: string }>('run', 'survey');
    expect(outcome).toMatchObject({ status: 'completed', summary: 'all counted' });
    expect(isUntouched(served.other)).toBe(true);
  });

  /** A tree that has ended; the same for the tests that only watch. */
  const findSurvey = async () => {
    const isSurvey = (fact: Fact) => fact.type === 'run.created' && fact.data.brief.task === 'survey';
    const survey = (await served.place.facts((facts) => facts.some(isSurvey))).find(isSurvey) as Fact;
    await untilFact('run.ended', survey.runId);
    return survey.runId;
  };

  it('list and show runs', async () => {
    const id = await findSurvey();
    expect((await served.run('ps', '--all')).out).toContain(id.slice(0, 8));
    expect(await json('ps', '--all')).toEqual(JSON.parse((await served.place.run('ps', '--all', '--json')).out));
    expect(await json('show', id)).toEqual(JSON.parse((await served.place.run('show', id, '--json')).out));
    expect((await served.run('show', id.slice(0, 8))).out).toMatch(/Summary\nall counted/);
  });

  it('print logs, and wait', async () => {
    const id = await findSurvey();
    expect((await served.run('logs', id, '--tree')).out).toBe((await served.place.run('logs', id, '--tree')).out);
    expect((await served.run('logs', id, '--tree', '-f', '--json')).out).toBe(
      (await served.place.run('logs', id, '--tree', '-f', '--json')).out,
    );
    expect(await served.run('wait', id)).toMatchObject({ code: 0, out: 'all counted\n' });
  });

  it('show runs on a screen', async () => {
    const id = await findSurvey();
    expect((await served.run('top', '--plain', '--all')).out).toContain(id.slice(0, 8));
    expect((await served.run('attach', id, '--plain')).out).toContain('counter');
  });

  it('replay and verify', async () => {
    const id = await findSurvey();
    expect((await served.run('replay', id)).out).toMatch(/identical/);
    expect((await served.run('verify', id)).out).toMatch(/^intact /);
    expect((await served.run('verify')).out).toMatch(/^intact /);
  });

  it('tell what the server has', async () => {
    await served.place.run('memory', 'add', 'test database', 'start it with make db');
    expect((await served.run('agents')).out).toMatch(/^general +/m);
    expect((await served.run('models')).out).toContain('script/script.json');
    expect((await served.run('memory', 'list', 'DATABASE')).out).toContain('start it with make db');
    expect((await served.run('memory', 'list', 'cupboard')).err).toContain('no note contains all these words');
    expect(await served.run('policy', 'test', 'write:x')).toMatchObject({ code: 1, out: expect.stringMatching(/^ask {2}write:x/) });
  });

  it('steer', async () => {
    const id = await startDetached('work', '--max-turns', '500');
    expect(await served.run('pause', id)).toMatchObject({ code: 0, out: expect.stringContaining('is paused') });
    expect((await served.run('ps')).out).toMatch(/paused/);
    const resuming = served.start('resume', id);
    await untilFact('run.resumed', id);
    expect((await served.run('message', id, '--deny', 'bash', 'no commands')).out).toContain('will read it before its next turn');
    expect(await served.run('cancel', id, '--reason', 'enough')).toMatchObject({
      code: 0,
      out: expect.stringContaining('is being cancelled'),
    });
    expect(await resuming.finished).toMatchObject({ code: 0, err: expect.stringContaining('cancelled') });
    const shown = await json<{ addedRules: string[]; outcome: { error: { message: string } } }>('show', id);
    expect(shown.addedRules).toEqual(['deny bash']);
    expect(shown.outcome.error.message).toContain('enough');
  });

  it('continue an ended run, and fork one', async () => {
    const id = await startDetached('count');
    await served.run('wait', id);
    expect(await served.run('message', id, 'and now?')).toMatchObject({ code: 0, out: 'done\n' });
    expect(await served.run('fork', id, '--at', '1', 'differently')).toMatchObject({ code: 0, out: 'done\n' });
  });

  it('approve and refuse', async () => {
    const approved = await startDetached('write');
    await untilFact('approval.asked', approved);
    expect((await served.run('approve')).out).toMatch(/wants to use write/);
    expect(await served.run('approve', approved)).toMatchObject({ code: 0, out: expect.stringContaining('write approved') });
    expect(await served.run('wait', approved)).toMatchObject({ code: 0, out: 'written\n' });
    expect((await served.run('diff', approved)).out).toContain('+hello');
    const refused = await startDetached('write');
    await untilFact('approval.asked', refused);
    const newer = await served.run('approve', refused);
    expect(newer, 'the list is older than the question').toMatchObject({
      code: 2,
      err: expect.stringContaining('newer than your last list'),
    });
    expect(await served.run('refuse', refused, 'not now')).toMatchObject({ code: 0, out: expect.stringContaining('write refused') });
    expect((await served.run('wait', refused)).code).toBe(0);
    expect(await served.run('approve', refused)).toMatchObject({ code: 1, err: expect.stringContaining('nothing waits for an answer') });
  });

  it('cancel the run on Ctrl-C, and leave it on the server on SIGTERM', async () => {
    const cancelled = served.start('run', 'wait', '--label', 'first');
    await untilAsked('first');
    cancelled.process.kill('SIGINT');
    expect(await cancelled.finished).toMatchObject({ code: 130, err: expect.stringContaining('cancelled') });
    const left = served.start('run', 'wait', '--label', 'second');
    await untilAsked('second');
    left.process.kill('SIGTERM');
    expect(await left.finished).toMatchObject({ code: 143, err: expect.stringContaining('continues on the server') });
    expect(await json('show', 'last')).toMatchObject({ label: 'second', status: 'running' });
    await served.run('cancel', 'last');
  });

  it('use RETINUE_SERVER and a token file, and flags before both', async () => {
    const { folder } = served.other;
    writeFileSync(join(folder, 'token'), '# mine\n\nwrong-token-of-the-file\n');
    const refused = await served.run('ps', '--token-file', 'token');
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringContaining('the token is not valid; give the token that `retinue serve` printed'),
    });
    expect(refused.err + refused.out).not.toContain('wrong-token');
    const file = join(folder, 'token');
    chmodSync(file, 0o644);
    const useFile = async (text: string) => {
      writeFileSync(file, text);
      return served.run('ps', '--all', '--token-file', 'token');
    };
    expect((await useFile(`${token}\r\n`)).err).toContain(`other users can read the token file ${file}; run \`chmod 600 ${file}\``);
    chmodSync(file, 0o600);
    for (const text of [token, `\ufeff${token} start me`, `# mine\n ${token} \n`])
      expect(await useFile(text)).toMatchObject({ code: 0, err: '' });
    expect(await useFile(' \n')).toMatchObject({ code: 2, err: expect.stringContaining('the token file token has no token; write') });
    expect(await useFile('tökén')).toMatchObject({ code: 2, err: expect.stringContaining('the token in token is none of a server') });
    expect(await served.run('ps', '--token-file', 'tokn')).toMatchObject({
      code: 2,
      err: expect.stringContaining('did you mean `token`?'),
    });
    const env = { RETINUE_SERVER: served.url() };
    expect((await served.other.run('ps', '--all')).err, 'without a server: this machine').toContain('no runs yet');
    using elsewhere = createPlace({}, { RETINUE_TOKEN: token, ...env });
    expect((await elsewhere.run('ps', '--all')).out).toContain('completed');
    expect((await elsewhere.run('ps', '--all', '--db', 'own.db')).err, '--db chooses this machine').toContain('no runs yet');
    expect(await elsewhere.run('rm', 'last', '--yes')).toMatchObject({ code: 2, err: expect.stringContaining('RETINUE_SERVER is set') });
    expect((await elsewhere.run('config')).code, 'a command that concerns only this machine').toBe(0);
  });
});

describe('wrong uses of --server say what is wrong', { timeout: 60_000 }, () => {
  it.each([
    [['rm', 'last'], 2, /`retinue rm` works only on the machine that it runs on; it has no --server/],
    [['doctor'], 2, /`retinue doctor` works only on the machine/],
    [['subagent', '--task', 'x'], 2, /`retinue subagent` works only on the machine/],
    [['agents', 'explain', 'general'], 2, /`agents explain` works only on the machine of the agents/],
    [['models', 'use', 'a/b'], 2, /`models use` changes your own configuration/],
    [['memory', 'add', 'a', 'b'], 2, /`memory add` works only on the machine of the workspace/],
    [['run', 'x', '--allow', 'bash'], 2, /--allow cannot be combined with a server/],
    [['run', 'x', '--db', 'y'], 2, /--db cannot be combined with a server/],
    [['run', 'x', '--ask', '1m'], 2, /--ask cannot be combined with a server/],
    [['run', 'x', '--agent', 'nobody'], 2, /unknown agent `nobody`/],
    [['resume'], 2, /name the runs: a server continues interrupted runs/],
    [['show', 'fffffff'], 1, /there is no run that begins with fffffff/],
    [['ps', '-C', '/nowhere'], 2, /unknown workspace of the server `\/nowhere`/],
  ])('%j', async (args, code, message) => {
    using cli = createCli({ env: { RETINUE_TOKEN: token, RETINUE_MODEL: '' } });
    const result = await cli.run([...args, '--server', served.url()]);
    expect(result.stderr).toMatch(message);
    expect(result.code).toBe(code);
  });

  it('an address where nothing or something else answers', async () => {
    const page = await serve((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hello</p>'));
    const other = await served.other.run('ps', '--server', page.url);
    expect(other).toMatchObject({ code: 1, err: expect.stringContaining(`${page.url} is not a Retinue server`) });
    await page.close();
    const nothing = await served.other.run('ps', '--server', page.url);
    expect(nothing).toMatchObject({ code: 1, err: expect.stringContaining('the connection was refused; check the address') });
    const plain = await served.other.run('ps', '--server', 'http://example.com');
    expect(plain).toMatchObject({ code: 2, err: expect.stringContaining('--insecure-http') });
    expect((await served.other.run('ps', '--token-file', 'x')).err).toContain('--token-file needs --server URL');
  });

  it('a workspace of the server by its path', async () => {
    expect((await served.run('ps', '-C', served.place.folder)).code).toBe(0);
  });
});
