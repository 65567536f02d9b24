// Dialects on the command line: real processes, a real database.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { createPlace } from './support-process.ts';

const dexRuns = {
  runs: [
    {
      when: { agent: 'dex/main' },
      steps: [{ calls: [{ tool: 'spawn_subagent', args: { instructions: 'look', hat: 'critic' } }] }, { text: 'ok' }],
    },
    { when: { agent: 'dex/critic' }, steps: [{ text: 'all is well' }] },
  ],
};

describe('retinue dialects', () => {
  it('lists the dialects with their tools', async () => {
    using place = createPlace({ runs: [] });
    const { code, out } = await place.run('dialects');
    expect(code).toBe(0);
    expect(out).toMatch(/^xzatoma +subagent parallel_subagent +XZatoma/m);
    const list = JSON.parse((await place.run('dialects', '--json')).out) as { name: string; tools: string[]; description: string }[];
    expect(list.map(({ name }) => name)).toEqual(['native', 'ralph', 'dex', 'openfork', 'rx', 'xzatoma', 'claude', 'codex']);
    expect(Object.keys(list[0] as object)).toEqual(['name', 'tools', 'description']);
  });
});

describe('retinue run --dialect', () => {
  it('an unknown dialect is exit code 2 and lists the known names', async () => {
    using place = createPlace({ runs: [] });
    for (const more of [[], ['--detach']]) {
      const { code, err } = await place.run('run', '--dialect', 'dx', ...more, 'work');
      expect(code).toBe(2);
      expect(err).toContain(
        'unknown dialect `dx`; did you mean `dex`? (available: native, ralph, dex, openfork, rx, xzatoma, claude, codex)',
      );
    }
  });

  it('dex: its activity entries are in the logs, as a line and as a key', async () => {
    using place = createPlace(dexRuns);
    const run = await place.run('run', '--dialect', 'dex', '--plain', 'work');
    expect(run.code, run.err).toBe(0);
    const text = (await place.run('logs', 'last')).out;
    expect(text).toMatch(
      / child\.created .*\n\S+ \w{8} activity +subagent_spawn · spawned · subagent_id=\w{16} · hat=critic · max_turns=10\n/,
    );
    expect(text).toMatch(/ debug +spawning subagent: hat=critic, max_turns=10\n/);
    expect(text).toMatch(/ debug +subagent completed: success=true, iterations=1, tokens=\d+\n/);
    expect(text).toMatch(
      / child\.ended .*\n\S+ \w{8} activity +subagent_complete · completed · subagent_id=\w{16} · success=true · iterations=1\n/,
    );
    for (const [args, read] of [
      [['--json'], (out: string) => JSON.parse(out)],
      [
        ['-f', '--json'],
        (out: string) =>
          out
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line)),
      ],
    ] as const) {
      const facts = read((await place.run('logs', 'last', ...args)).out) as {
        type: string;
        activity?: { type: string; metadata: object };
      }[];
      const entries = facts.filter(({ activity }) => activity).map(({ type, activity }) => [type, activity?.type]);
      expect(entries).toEqual([
        ['child.created', 'subagent_spawn'],
        ['child.ended', 'subagent_complete'],
      ]);
    }
  });

  it('environment variables override the file, and an invalid one is exit code 2 and named', async () => {
    using place = createPlace(dexRuns, { DEX_SUBAGENT_DEFAULT_MAX_TURNS: '4', DEX_SUBAGENT_MAX_CONCURRENT: '2' });
    writeFileSync(join(place.folder, 'own.json'), JSON.stringify({ dialects: { dex: { default_max_turns: 7, default_timeout: '2m' } } }));
    await place.run('run', '--dialect', 'dex', '--config', 'own.json', 'work');
    const root = JSON.parse((await place.run('show', 'last', '--json')).out);
    const child = JSON.parse((await place.run('show', root.children[0].runId, '--json')).out);
    expect(child.grant.limits).toMatchObject({ maxTurns: { value: 4 }, timeoutMs: { value: 120_000 } });
    expect(root.grant.limits.maxConcurrent).toEqual({ value: 2, from: 'dialect' });
    const values = JSON.parse((await place.run('config', '--config', 'own.json', '--json')).out).values;
    expect(values['dialects.dex.default_max_turns']).toEqual({ value: 4, from: 'DEX_SUBAGENT_DEFAULT_MAX_TURNS' });
    using wrong = createPlace(dexRuns, { DEX_SUBAGENT_ENABLED: 'perhaps' });
    expect(await wrong.run('run', 'work')).toMatchObject({
      code: 2,
      err: expect.stringContaining('DEX_SUBAGENT_ENABLED must be true or false; it is "perhaps"'),
    });
  });

  it('openfork: progress under the parent, and a panel with the result', async () => {
    using place = createPlace({
      runs: [
        {
          when: { agent: 'openfork/main' },
          steps: [{ calls: [{ tool: 'task', args: { subagent_type: 'explore', prompt: 'look', description: 'look' } }] }, { text: 'ok' }],
        },
        {
          when: { agent: 'openfork/explore' },
          steps: [{ text: 'I list', calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'a | b\nseen' }],
        },
      ],
    });
    const { err, code, out } = await place.run('run', '--dialect', 'openfork', '--plain', 'work');
    expect(code, err).toBe(0);
    expect(out).toBe('ok\n');
    expect(err).toContain('\n  ↳ Subagent: I list\n  ↳ Subagent: list {"path":"."}\n');
    expect(err).toContain(
      [
        '✓ Subagent completed',
        '╭─Subagent Result─╮',
        '│ I list          │',
        '│ a | b           │',
        '│ seen            │',
        '╰─────────────────╯',
        '',
      ].join('\n'),
    );
  });

  it('openfork: its events for any entry point, as an array, as lines while it runs, and as text', async () => {
    const steps = [{ text: 'I list', calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'seen' }];
    using place = createPlace({
      runs: [
        {
          when: { task: 'work' },
          steps: [{ calls: [{ tool: 'delegate', args: { tasks: [{ task: 'look', agent: 'explore' }] } }] }, { text: 'ok' }],
        },
        { when: { task: 'look' }, steps },
      ],
    });
    await place.run('run', '--plain', 'work');
    const all = JSON.parse((await place.run('logs', 'last', '--json', '--events')).out) as { type: string; parentSessionId: string }[];
    expect(all.map(({ type }) => type)).toEqual([
      ...[
        'SubSessionCreated',
        'SubSessionStatusChanged',
        'SubSessionProgress',
        'SubSessionProgress',
        'SubSessionProgress',
        'SubSessionCompleted',
      ],
    ]);
    expect(all[2]).toMatchObject({ partType: 'text', content: 'I list' });
    expect(all[5]).toMatchObject({ result: 'seen', parentSessionId: all[0]?.parentSessionId });
    const followed = (await place.run('logs', 'last', '-f', '--json', '--events')).out.trim().split('\n');
    expect(followed.map((line) => JSON.parse(line))).toEqual(all);
    expect((await place.run('logs', 'last', '--events')).out).toMatch(/\nSubSessionCompleted · subSessionId=\w{16} · .*result=seen\n$/);
  });

  it('openfork: the view sub_sessions has the columns of its table', async () => {
    const ask = { subagent_type: 'explore', prompt: 'look', description: 'look' };
    using place = createPlace({
      runs: [
        {
          when: { task: 'work' },
          steps: [
            {
              calls: [
                { tool: 'task', args: ask },
                { tool: 'task', args: { ...ask, prompt: 'fail' } },
              ],
            },
            { text: 'ok' },
          ],
        },
        { when: { task: 'look' }, steps: [{ text: 'seen' }] },
        { when: { task: 'fail' }, steps: [{ error: { status: 400, message: 'broken' } }] },
      ],
    });
    await place.run('run', '--dialect', 'openfork', '--deny', 'write:secret*', '--plain', 'work');
    const db = new DatabaseSync(join(place.folder, '.retinue/retinue.db'), { readOnly: true });
    const rows = db.prepare('SELECT * FROM sub_sessions ORDER BY CreatedAt, Prompt DESC').all() as Record<string, string>[];
    db.close();
    expect(Object.keys(rows[0] ?? {})).toEqual([
      ...['Id', 'ParentSessionId', 'ParentMessageId', 'AgentType', 'Status', 'Prompt', 'Result', 'Error', 'EffectivePermissionsJson'],
      ...['CreatedAt', 'CompletedAt'],
    ]);
    expect(rows.map(({ AgentType, Status, Prompt, Result, Error: error }) => [AgentType, Status, Prompt, Result, error])).toEqual([
      ['explore', 'Completed', 'look', 'seen', null],
      ['explore', 'Failed', 'fail', null, expect.stringContaining('broken')],
    ]);
    expect(rows[0]?.ParentMessageId).toBe(`${rows[0]?.ParentSessionId}/1`);
    const owners = (JSON.parse(rows[0]?.EffectivePermissionsJson ?? '') as { owner: string; rules: object[] }[]).map(({ owner }) => owner);
    expect(owners).toContain('agent openfork/explore');
    expect(rows[0]?.EffectivePermissionsJson).toContain('secret*');
    expect(rows[0]?.CompletedAt).toMatch(/^\d{4}-/);
  });

  it('dex: hats of agent files and recipes are offered, and wrong recipes are named with file and line', async () => {
    const call = { recipe: 'audit', parameters: { file: 'a.txt' } };
    using place = createPlace({
      runs: [
        { when: { agent: 'dex/main' }, steps: [{ calls: [{ tool: 'spawn_subagent', args: call }] }, { text: 'ok' }] },
        { when: { agent: 'dex/auditor' }, steps: [{ text: 'audited' }] },
      ],
    });
    const write = (path: string, text: string) => {
      mkdirSync(dirname(join(place.folder, path)), { recursive: true });
      writeFileSync(join(place.folder, path), text);
    };
    write('.retinue/agents/auditor.md', '---\nname: dex/auditor\ndescription: Audits.\ntools: Read\nmaxTurns: 3\n---\nYou audit.');
    write('.retinue/recipes/audit.md', '---\nname: audit\nhat: auditor\nparameters:\n  file: The file to audit.\n---\nAudit {{file}}.');
    const run = await place.run('run', '--dialect', 'dex', '--plain', 'work');
    expect(run.code, run.err).toBe(0);
    const facts = JSON.parse((await place.run('logs', 'last', '--tree', '--json')).out) as {
      type: string;
      data: { brief: object; agent: string };
    }[];
    const child = facts.filter(({ type }) => type === 'run.created').at(-1);
    expect(child?.data).toMatchObject({ agent: 'dex/auditor', brief: { task: 'Audit a.txt.', limits: { maxTurns: 3 } } });
    expect((await place.run('run', '--plain', 'native')).err).not.toContain('auditor');
    write('.retinue/recipes/audit.md', '---\nname: audit\nhut: critic\n---\nx');
    const wrong = await place.run('run', '--dialect', 'dex', '--plain', 'work');
    expect([wrong.code, wrong.err]).toEqual([
      2,
      expect.stringContaining('.retinue/recipes/audit.md:3: `hut`: unknown key; did you mean `hat`?'),
    ]);
  });

  it('a message to an ended run is answered in the dialect of that run', async () => {
    using place = createPlace({ runs: [{ when: { task: 'work' }, steps: [{ text: 'ok' }] }] });
    await place.run('run', '--dialect', 'openfork', 'work');
    writeFileSync(
      join(place.folder, 'script.json'),
      JSON.stringify({ runs: [{ steps: [{ expect: { tools: ['task'] }, text: 'more' }] }] }),
    );
    const { code, out, err } = await place.run('message', 'last', 'go on');
    expect(code, err).toBe(0);
    expect(out).toBe('more\n');
  });

  it('rx accepts rules that name tools of other dialects', async () => {
    using place = createPlace({
      runs: [{ when: { task: 'work' }, steps: [{ calls: [{ tool: 'subagent', args: { task: 'look' } }] }, { text: 'ok' }] }],
    });
    const run = await place.run('run', '--dialect', 'rx', '--deny', 'task', '--deny', 'subagent', '--json', 'work');
    expect(run.code, run.err).toBe(0);
    const facts = JSON.parse((await place.run('logs', 'last', '--json')).out) as { type: string; data: { rejected?: string } }[];
    expect(facts.find(({ type }) => type === 'tool.asked')?.data.rejected).toBe('denied');
  });
});
