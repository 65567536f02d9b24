// Two terminals on one database: what one process runs, the other one sees, steers and stops.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import type { RunView } from '../../src/api/api.ts';
import type { Fact } from '../../src/contract/fact.ts';
import { startHeldModel } from './support-held-model.ts';
import { createPlace } from './support-process.ts';

type View = { runId: string; parentId: string | null; status: string; depth: number };
const one = (...steps: object[]) => ({ runs: [{ steps }] });
const hanging = {
  runs: [
    {
      when: { agent: 'general' },
      steps: [{ calls: [{ tool: 'delegate', args: { tasks: [1, 2].map((n) => ({ task: `t${n}`, agent: 'explore' })) } }] }, { text: 'ok' }],
    },
    { when: { agent: 'explore' }, times: 2, steps: [{ text: 'a beginning', hang: 'middle' }] },
  ],
};

describe('one process', () => {
  it('prints one outcome as JSON and records every step in the database', async () => {
    using place = createPlace(one({ text: 'looking', calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'seen' }));
    const run = await place.run('run', '--json', 'look around');
    expect(run.code).toBe(0);
    const outcome = JSON.parse(run.out);
    expect(outcome).toMatchObject({ status: 'completed', summary: 'seen', turns: 2 });
    expect(Object.keys(outcome).slice(0, 10)).toEqual([
      'runId',
      'parentId',
      'rootId',
      'depth',
      'label',
      'agent',
      'status',
      'success',
      'verified',
      'summary',
    ]);
    const all = JSON.parse((await place.run('ps', '--all', '--json')).out);
    expect(Object.keys(all[0])).toEqual([
      'runId',
      'parentId',
      'rootId',
      'depth',
      'kind',
      'label',
      'agent',
      'status',
      'turns',
      'tokens',
      'costUsd',
      'startedAt',
      'endedAt',
      'worker',
    ]);
    expect(JSON.parse((await place.run('ps', '--json')).out)).toEqual([]);
    const shown = JSON.parse((await place.run('show', outcome.runId.slice(0, 6), '--json')).out);
    expect(shown.outcome).toEqual(outcome);
    expect(Object.keys(shown.outcome)).toEqual(Object.keys(outcome));
    expect((await place.run('wait', outcome.runId, '--json')).out).toBe(`[${run.out.trimEnd()}]\n`);
    expect(shown.brief.task).toBe('look around');
    const facts = JSON.parse((await place.run('logs', 'last', '--json')).out) as Fact[];
    expect(facts.map((fact) => fact.type)).toEqual([
      'run.created',
      'run.started',
      'model.asked',
      'model.answered',
      'tool.asked',
      'tool.finished',
      'model.asked',
      'model.answered',
      'run.ended',
    ]);
    expect(Object.keys(facts[0] as Fact)).toEqual(['runId', 'seq', 'at', 'v', 'type', 'data', 'hash']);
    expect(readFileSync(join(place.folder, '.retinue/.gitignore'), 'utf8').trim()).toBe('*');
  });

  it.each([
    ['completed', 0, [{ text: 'ok' }], []],
    ['failed', 1, [{ text: '' }, { text: '' }], []],
    ['exhausted', 3, [{ calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'part' }], ['--max-turns', '1']],
    ['timed_out', 4, [{ hang: 'start' }], ['--timeout', '200ms']],
  ])('exits for %s with %i, and so does wait', async (status, code, steps, flags) => {
    using place = createPlace(one(...steps));
    const run = await place.run('run', '--json', ...flags, 'work');
    expect(JSON.parse(run.out).status).toBe(status);
    expect(run.code).toBe(code);
    expect((await place.run('wait', 'last')).code).toBe(code);
  });

  it('is cancelled by Ctrl-C and prints the partial result', async () => {
    using place = createPlace(one({ text: 'part', calls: [{ tool: 'list', args: { path: '.' } }] }, { hang: 'start' }));
    const run = place.start('run', '--json', 'work');
    await place.until<View[]>(['ps'], (rows) => rows[0]?.status === 'running' && (rows[0] as unknown as { turns: number }).turns === 1);
    run.process.kill('SIGINT');
    const { code, out } = await run.finished;
    expect(code).toBe(130);
    expect(JSON.parse(out)).toMatchObject({ status: 'cancelled', summary: 'part' });
  });

  it('names the mistake and the nearest correct name', async () => {
    using place = createPlace(one({ text: 'x' }));
    const cases: [string[], RegExp][] = [
      [['run', '--agnet', 'x', 'work'], /--agnet.*--agent/s],
      [['run', '--agent', 'explor', 'work'], /explor.*explore/s],
      [['run', '--tools', 'raed', 'work'], /raed.*read/s],
      [['run', '--file', 'scrpt.json', 'work'], /scrpt\.json.*script\.json/s],
      [['run', '--timeout', '0', 'work'], /--timeout/],
      [['run', '--timeout', '-1', 'work'], /--timeout/],
      [['run', '--max-turns', '5m', 'work'], /--max-turns/],
      [['run', '--timeout', 'Infinity', 'work'], /--timeout/],
      [['run', '--timeout', '2147483648ms', 'work'], /--timeout/],
      [['run', '--model', 'scrpt/x', 'work'], /scrpt/],
      [['run', '--allow', 'alow bash', 'work'], /alow bash/],
      [['run', ''], /task/i],
      [['run', '--deny', 'wrte', 'work'], /wrte.*write/s],
    ];
    for (const [args, says] of cases) {
      const { code, err, out } = await place.run(...args);
      expect([args, code], err).toEqual([args, 2]);
      expect(err).toMatch(says);
      expect(err).not.toMatch(/\n\s+at /);
      expect(out).toBe('');
    }
    writeFileSync(join(place.folder, 'retinue.config.json'), '{\n  "modle": "x"\n}\n');
    const { code, err } = await place.run('ps');
    expect(code).toBe(2);
    expect(err).toMatch(/retinue\.config\.json:2.*`?modle`?.*model/s);
  });

  it.each([
    ['garbage', (path: string) => writeFileSync(path, 'this is no database, and never was one\n'.repeat(100))],
    [
      'of a newer version',
      (path: string) => {
        const db = new DatabaseSync(path);
        db.exec('PRAGMA application_id = 1; CREATE TABLE facts (x); PRAGMA user_version = 9999');
        db.close();
      },
    ],
  ])('leaves a database that is %s untouched, and says so', async (_, make) => {
    using place = createPlace(one({ text: 'x' }));
    const path = join(place.folder, 'odd.db');
    make(path);
    const before = createHash('sha256').update(readFileSync(path)).digest('hex');
    const { code, err } = await place.run('run', '--db', path, 'work');
    expect(code).toBe(2);
    expect(err).toContain(path);
    expect(createHash('sha256').update(readFileSync(path)).digest('hex')).toBe(before);
  });

  it('does not follow a symbolic link .retinue, and reports a missing directory', async () => {
    using place = createPlace(one({ text: 'x' }));
    mkdirSync(join(place.folder, 'elsewhere'));
    symlinkSync('elsewhere', join(place.folder, '.retinue'));
    const linked = await place.run('run', 'work');
    expect([linked.code, existsSync(join(place.folder, 'elsewhere', 'retinue.db'))]).toEqual([2, false]);
    expect(linked.err).toContain('is a symbolic link');
    const program = resolve(import.meta.dirname, '../../bin/retinue.js');
    const command = 'mkdir gone && cd gone && rmdir ../gone && "$0" "$@"';
    const gone = spawnSync('sh', ['-c', command, process.execPath, program, 'ps'], { cwd: place.folder, encoding: 'utf8' });
    expect([gone.status, gone.stderr]).toEqual([2, 'retinue: the current directory no longer exists; change to another one\n']);
  });

  it('gives no shell if a sandbox is required and missing', async () => {
    using place = createPlace(
      one({ calls: [{ tool: 'bash', args: { command: 'touch made' } }] }, { expect: { prompt: 'sandbox: required' }, text: 'ok' }),
      { PATH: '/nowhere' },
    );
    writeFileSync(join(place.folder, 'own.json'), '{ "sandbox": "required" }');
    const run = await place.run('run', '--json', '--config', 'own.json', '--allow', 'bash', 'work');
    expect([run.code, existsSync(join(place.folder, 'made'))]).toEqual([0, false]);
  });

  it('names the directory that it cannot write to', async () => {
    using place = createPlace(one({ text: 'x' }));
    writeFileSync(join(place.folder, 'file'), '');
    const { code, err } = await place.run('run', '--db', join(place.folder, 'file', 'sub', 'x.db'), 'work');
    expect(code).toBe(2);
    expect(err).toContain(join(place.folder, 'file'));
    mkdirSync(join(place.folder, 'dir'));
    expect((await place.run('run', '--db', join(place.folder, 'dir'), 'work')).code).toBe(2);
  });
});

describe('a second process', () => {
  it('sees, follows and cancels the runs of the first one', async () => {
    using place = createPlace(hanging);
    const run = place.start('run', '--json', 'work');
    const rows = await place.until<View[]>(['ps'], (found) => found.length === 3 && found.every((row) => row.status !== 'queued'));
    const root = rows.find((row) => row.parentId === null) as View;
    const follow = place.start('logs', root.runId, '-f', '--tree', '--json');
    const cancelled = await place.run('cancel', root.runId, '--reason', 'enough');
    expect(cancelled.code).toBe(0);
    const asked = JSON.parse((await place.run('logs', root.runId, '--json')).out) as Fact[];
    expect(asked.some((fact) => fact.type === 'cancel.asked')).toBe(true);
    const { code, out } = await run.finished;
    expect(code).toBe(130);
    expect(JSON.parse(out)).toMatchObject({ status: 'cancelled', error: { message: 'enough' } });
    const followed = (await follow.finished).out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Fact);
    expect(followed.filter((fact) => fact.type === 'run.ended')).toHaveLength(3);
    expect((await place.run('wait', root.runId)).code).toBe(130);
    expect((await place.run('cancel', root.runId)).code).toBe(0);
  });

  it('sends messages to a live run and follow-up questions to an ended one', async () => {
    const answer = { text: 'non' };
    await using model = await startHeldModel({
      // Its conversation begins with that of the first run.
      'and now': [answer, answer, answer, answer],
      work: [
        { held: true, calls: [{ tool: 'list', args: { path: '.' } }] },
        { expect: 'in French', text: 'oui' },
      ],
    });
    using place = createPlace({}, model.variables);
    const run = place.start('run', '--json', 'work');
    const [asked] = await place.facts((facts) => facts.some((fact) => fact.type === 'model.asked'));
    const sent = await place.run('message', asked?.runId ?? '', 'answer in French');
    expect(sent.code).toBe(0);
    await place.facts((facts) => facts.some((fact) => fact.type === 'message.received'));
    model.release();
    const { out } = await run.finished;
    const outcome = JSON.parse(out);
    expect(outcome.summary).toBe('oui');
    const follow = await place.run('message', outcome.runId, 'and now in one word');
    expect(follow.out).toContain('non');
  });

  it('ends a run whose process is stopped after its heartbeat is old enough', async () => {
    using place = createPlace(hanging);
    const run = place.start('run', '--json', 'work');
    const rows = await place.until<View[]>(['ps'], (found) => found.length === 3 && found.every((row) => row.status !== 'queued'));
    const root = rows.find((row) => row.parentId === null) as View;
    run.process.kill('SIGSTOP');
    const cancelled = await place.run('cancel', root.runId);
    expect(cancelled.code).toBe(0);
    const after = JSON.parse((await place.run('ps', '--all', '--json')).out) as View[];
    expect(after.map((row) => row.status)).toEqual(['cancelled', 'cancelled', 'cancelled']);
    run.process.kill('SIGCONT');
    expect((await run.finished).code).not.toBe(0);
  }, 60_000);

  it('gives a child that gets a follow-up question no more permissions than it had under its parent', async () => {
    const write = { calls: [{ tool: 'write', args: { path: 'w.txt', content: 'x' } }] };
    using place = createPlace({
      runs: [
        {
          when: { agent: 'explore' },
          times: 'any',
          steps: [{ calls: [{ tool: 'delegate', args: { tasks: [{ task: 'a', agent: 'general' }] } }] }, { text: 'done' }],
        },
        { when: { agent: 'general' }, times: 'any', steps: [write, { expect: { prompt: 'denied' }, text: 'not allowed' }] },
      ],
    });
    expect((await place.run('run', '--agent', 'explore', 'go')).code).toBe(0);
    const [child] = JSON.parse((await place.run('ps', '--all', '--json')).out) as RunView[];
    expect(child?.agent).toBe('general');
    expect(await place.run('message', child?.runId ?? '', 'and now?')).toMatchObject({ code: 0, out: 'not allowed\n' });
  });

  it('keeps limits and deny rules in a follow-up', async () => {
    using place = createPlace({ runs: [{ times: 'any', steps: [{ text: 'ok' }] }] });
    await place.run('run', '--json', '--max-turns', '3', '--deny', 'write', 'work');
    await place.run('message', 'last', 'more');
    const { grant, brief } = JSON.parse((await place.run('show', 'last', '--json')).out);
    expect(brief.continues).toMatch(/^[0-9a-f]{16}$/);
    expect(grant.limits.maxTurns.value).toBe(3);
    expect(grant.tools).not.toContain('write');
  });

  it('leaves no command of a run behind when it exits at once', async () => {
    using place = createPlace(
      one({ calls: [{ tool: 'bash', args: { command: "trap '' TERM INT; touch begun; while true; do sleep 0.1; touch alive; done" } }] }),
    );
    const run = place.start('run', '--allow', 'bash', 'work');
    while (!existsSync(join(place.folder, 'begun'))) await new Promise((resolve) => setTimeout(resolve, 20));
    run.process.kill('SIGINT');
    await place.facts((facts) => facts.some((fact) => fact.type === 'cancel.asked'));
    run.process.kill('SIGINT');
    expect((await run.finished).code).toBe(130);
    rmSync(join(place.folder, 'alive'), { force: true });
    await new Promise((resolve) => setTimeout(resolve, 400)); // several of its rounds
    expect(existsSync(join(place.folder, 'alive'))).toBe(false);
  });

  it('shows the runs of a killed process as interrupted, and ends them itself', async () => {
    using place = createPlace(hanging);
    const run = place.start('run', '--json', 'work');
    const rows = await place.until<View[]>(['ps'], (found) => found.length === 3 && found.every((row) => row.status !== 'queued'));
    const root = rows.find((row) => row.parentId === null) as View;
    run.process.kill('SIGKILL');
    await run.finished;
    expect(JSON.parse((await place.run('ps', '--json')).out).map((row: View) => row.status)).toEqual([
      'interrupted',
      'interrupted',
      'interrupted',
    ]);
    expect((await place.run('message', root.runId, 'hello?')).code).not.toBe(0);
    const child = rows.find((row) => row.depth === 1) as View;
    expect((await place.run('cancel', child.runId)).code).toBe(0);
    expect((await place.run('cancel', root.runId)).code).toBe(0);
    const after = JSON.parse((await place.run('ps', '--all', '--json')).out) as View[];
    expect(after.map((row) => row.status)).toEqual(['cancelled', 'cancelled', 'cancelled']);
    const facts = JSON.parse((await place.run('logs', root.runId, '--tree', '--json')).out) as Fact[];
    expect(facts.filter((fact) => fact.type === 'run.ended')).toHaveLength(3);
    expect(facts.filter((fact) => fact.type === 'child.ended')).toHaveLength(2);
    const last = facts.at(-1) as Fact;
    expect(last).toMatchObject({ runId: root.runId, type: 'run.ended' });
  });
});
