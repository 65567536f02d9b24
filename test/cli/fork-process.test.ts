// A new run from a recorded turn of another, on a real database.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import type { RunDetail as Detail } from '../../src/api/api.ts';
import type { StoredFact } from '../../src/contract/fact.ts';
import type { Grant } from '../../src/contract/grant.ts';
import type { Outcome } from '../../src/contract/outcome.ts';
import { createPlace, type Place } from './support-process.ts';

type RunDetail = Detail & { grant: Grant };

const look = (path: string) => ({ calls: [{ tool: 'read', args: { path } }] });
const script = {
  runs: [
    { when: { task: 'go' }, steps: [look('one.txt'), look('two.txt'), look('three.txt'), { text: 'all read' }] },
    {
      when: { task: 'parent' },
      steps: [{ calls: [{ tool: 'delegate', args: { tasks: [{ task: 'child', agent: 'explore' }] } }] }, { text: 'told' }],
    },
    { when: { task: 'child' }, steps: [look('one.txt'), { text: 'seen' }] },
  ],
};

function placed(): Place {
  const place = createPlace(script);
  for (const name of ['one', 'two', 'three']) writeFileSync(join(place.folder, `${name}.txt`), `content of ${name}`);
  return place;
}

/** Writes a script of another model and gives its name. */
function other(place: Place, steps: object[]): string {
  writeFileSync(join(place.folder, 'other.json'), JSON.stringify({ runs: [{ steps, times: 'any' }] }));
  return 'script/other.json';
}

function historyOf(place: Place, runId: string): string {
  const db = new DatabaseSync(join(place.folder, '.retinue', 'retinue.db'));
  try {
    const found = db
      .prepare(
        `SELECT text FROM blobs WHERE hash = (SELECT json_extract(data, '$.history') FROM facts WHERE type = 'run.started' AND run = (SELECT n FROM runs WHERE id = ?))`,
      )
      .get(runId);
    return String(found?.text);
  } finally {
    db.close();
  }
}

const json = async <T>(place: Place, ...args: string[]) => JSON.parse((await place.run(...args, '--json')).out) as T;

describe('fork', () => {
  it('continues from the turn with the recorded conversation, another model and a new message', async () => {
    using place = placed();
    const first = await json<Outcome>(place, 'run', 'go', '--deny', 'write');
    // What the files say now plays no part.
    writeFileSync(join(place.folder, 'one.txt'), 'changed');
    const model = other(place, [{ expect: { prompt: 'another way' }, text: 'done otherwise' }]);
    const forked = await json<Outcome>(place, 'fork', first.runId.slice(0, 8), '--at', '2', '--model', model, 'another way');
    expect(forked).toMatchObject({ status: 'completed', summary: 'done otherwise', turns: 1, depth: 0, parentId: null });
    const history = historyOf(place, forked.runId);
    for (const part of ['content of one', 'content of two']) expect(history).toContain(part);
    for (const part of ['three', 'all read', 'changed']) expect(history).not.toContain(part);
    const detail = await json<RunDetail>(place, 'show', forked.runId);
    expect(detail.brief).toMatchObject({ continues: first.runId, continuesAt: 2, task: 'another way' });
    expect(detail.brief?.rulesets).toMatchObject([{ kind: 'narrowing', rules: [{ action: 'deny', tool: 'write' }] }]);
    expect(detail.grant.tools).not.toContain('write');
    expect(await place.run('replay', forked.runId)).toMatchObject({ code: 0, out: expect.stringContaining('identical') });
    expect((await place.run('verify')).code).toBe(0);
  });

  it('continues without a message too, within the limits of the original', async () => {
    using place = placed();
    await place.run('run', 'go', '--max-turns', '2');
    const { code, out } = await place.run(
      'fork',
      'last',
      '--at',
      '2',
      '--model',
      other(place, [{ expect: { prompt: 'Continue with the task from here.' }, text: 'on' }]),
    );
    expect([code, out]).toEqual([0, 'on\n']);
    const facts = await json<StoredFact[]>(place, 'logs', 'last');
    expect(facts.find((fact) => fact.type === 'run.created')).toMatchObject({ data: { grant: { limits: { maxTurns: { value: 2 } } } } });
  });

  it('has no more permissions than a child that it is forked from', async () => {
    using place = placed();
    const root = await json<Outcome>(place, 'run', 'parent', '--deny', 'grep', '--max-turns', '7');
    const [child] = (await json<RunDetail>(place, 'show', root.runId)).children as [RunDetail];
    const before = await json<RunDetail>(place, 'show', child.runId);
    const steps = [{ calls: [{ tool: 'delegate', args: { tasks: [{ task: 'x' }] } }] }, { text: 'alone' }];
    const forked = await json<Outcome>(place, 'fork', child.runId, '--at', '1', '--model', other(place, steps));
    expect(forked).toMatchObject({ summary: 'alone' });
    const after = await json<RunDetail>(place, 'show', forked.runId);
    expect(after.children).toEqual([]);
    expect(after.grant.tools).toEqual(before.grant.tools);
    expect(after.grant.tools).not.toContain('grep');
    expect(after.grant.limits.maxDepth.value).toBe(0);
    for (const name of ['maxTurns', 'maxTokens', 'timeoutMs', 'maxRuns'] as const)
      expect(after.grant.limits[name].value).toBeLessThanOrEqual(before.grant.limits[name].value as number);
  });

  it('refuses a turn that does not exist, and starts nothing', async () => {
    using place = placed();
    const { runId } = await json<Outcome>(place, 'run', 'go');
    expect(await place.run('fork', runId, '--at', '9')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('has no turn 9: its last turn is 4'),
    });
    expect(await place.run('fork', runId)).toMatchObject({ code: 2, err: expect.stringContaining('--at TURN') });
    expect(await place.run('fork', runId, '--at', '0')).toMatchObject({ code: 2 });
    expect(await place.run('fork', 'ffff', '--at', '1')).toMatchObject({
      code: 1,
      err: expect.stringContaining('no run that begins with ffff'),
    });
    expect(await json<unknown[]>(place, 'ps', '--all')).toHaveLength(1);
  });

  it('accepts only finished turns of a live run', async () => {
    using place = createPlace({
      runs: [
        {
          when: { agent: 'general' },
          steps: [
            look('none.txt'),
            { calls: [{ tool: 'delegate', args: { tasks: [{ task: 'slow', agent: 'explore' }] } }] },
            { text: 'never' },
          ],
        },
        { when: { agent: 'explore' }, steps: [{ delayMs: 120_000, text: 'late' }] },
      ],
    });
    const running = place.start('run', 'go');
    await place.until<StoredFact[]>(['logs', 'last', '--tree'], (facts) => facts.some(({ type }) => type === 'child.created'));
    const model = other(place, [{ text: 'quick' }]);
    expect(await place.run('fork', 'last', '--at', '2', '--model', model)).toMatchObject({
      code: 1,
      err: expect.stringContaining('turn 2 of run'),
    });
    expect(await place.run('fork', 'last', '--at', '1', '--model', model)).toMatchObject({ code: 0, out: 'quick\n' });
    running.process.kill('SIGKILL');
    await running.finished;
  });
});
