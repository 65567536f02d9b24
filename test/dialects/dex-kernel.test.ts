// Dex's acceptance criteria with a parent model: real kernel, scripted models.
import { describe, expect, it } from 'vitest';
import { dex } from '../../src/dialects/dex.ts';
import { createMemoryNotes } from '../../src/stores/notes-memory.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { createCall, createCalls, createChildId, openWorld, playScript, rootId, selectFacts, selectResults } from './kernel-support.ts';

const root = (...steps: object[]) => ({ when: { agent: 'dex/main' }, steps });
const child = (task: string, ...steps: object[]) => ({ when: { task }, steps });
const spawn = (instructions: string, more: object = {}) => createCall('spawn_subagent', { instructions, ...more });

it('spawn_subagent tool available to non-subagent sessions; Subagents cannot spawn additional subagents', async () => {
  const { world, results } = await playScript(dex(), [
    root(createCalls(spawn('look')), { text: 'ok' }),
    child('look', createCalls(spawn('more')), { text: 'seen' }),
  ]);
  const offered = selectFacts(world, 'run.created').map((fact) => fact.data.grant.tools.includes('spawn_subagent'));
  expect(offered).toEqual([true, false]);
  expect(selectResults(world, createChildId(1))[0]?.output).toBe('subagents cannot spawn additional subagents');
  expect(results[0]?.output).toMatch(
    /^## Subagent Result \(Success\)\n\n<run-output run="0000000000000002">\nseen\n<\/run-output>\n\n\*\(2 iterations, \d+ tokens\)\*$/,
  );
});

it('Subagents run with isolated context: the first message of the source, and its addition to the system prompt', async () => {
  const world = await openWorld(
    dex(),
    [
      root({ text: 'what the parent thinks', ...createCalls(spawn('look', { files: ['a.txt', 'no.txt'] })) }, { text: 'ok' }),
      child('look', { text: 'seen' }),
    ],
    { files: { 'a.txt': 'inside a' } },
  );
  await (await world.runtime.start({ task: 'work' })).outcome;
  const started = selectFacts(world, 'run.started', createChildId(1))[0];
  expect(started?.data.first).toMatch(
    /^# Subagent Task\n\nlook\n\n## Pre-loaded Files\n\n### a\.txt\n```\ninside a\n```\n\n### no\.txt\n\(failed to read: .+\)\n\n$/,
  );
  const system = await world.store.blob(started?.data.system as string);
  expect(system).toContain('# Subagent Context\n\nYou are a specialized subagent spawned for a specific task.');
  expect(system).toContain('3. **No recursion**: You cannot spawn additional subagents');
  await world[Symbol.asyncDispose]();
});

it('Max turns enforced', async () => {
  const { results, world } = await playScript(dex({ default_max_turns: 2 }), [
    root(createCalls(spawn('look')), { text: 'ok' }),
    child(
      'look',
      { text: 'one', ...createCalls(createCall('list', { path: '.' })) },
      { text: 'two', ...createCalls(createCall('glob', { pattern: '*' })) },
      { text: 'what I have' },
    ),
  ]);
  expect(results[0]?.output).toContain('## Subagent Result (Terminated)\n\n**Reason**: the limit of 2 turns was reached\n');
  expect(results[0]?.output).toContain('what I have');
  expect(results[0]?.output).toMatch(/\*\(2 iterations, \d+ tokens\)\*$/);
  expect(selectFacts(world, 'run.created', createChildId(1))[0]?.data.grant.limits.maxTurns).toEqual({ from: 'brief', value: 2 });
});

it('Timeout enforced', async () => {
  const clock = createHandClock();
  const world = await openWorld(
    dex(),
    [root(createCalls(spawn('look', { timeout: '20s' })), { text: 'ok' }), child('look', { hang: 'start' })],
    {
      clock,
    },
  );
  const run = await world.runtime.start({ task: 'work' });
  await clock.advance(20_000);
  await run.outcome;
  expect(selectResults(world)[0]?.output).toContain('## Subagent Result (Terminated)\n\n**Reason**: the deadline passed\n');
  expect(world.runtime.stats()).toMatchObject({ active: 0, timers: 0 });
  await world[Symbol.asyncDispose]();
});

describe('Hat-based tool profiles applied to subagents', () => {
  const looking = ['read', 'list', 'glob', 'grep', 'bash'];
  const changing = ['read', 'write', 'edit', 'list', 'glob', 'grep', 'bash'];
  it.each([
    ['explorer', looking],
    ['critic', looking],
    ['planner', [...looking, 'todo']],
    ['creator', changing],
  ])('%s', async (hat, tools) => {
    const { world } = await playScript(dex(), [root(createCalls(spawn('look', { hat })), { text: 'ok' }), child('look', { text: 'seen' })]);
    const created = selectFacts(world, 'run.created', createChildId(1))[0]?.data;
    expect(created?.agent).toBe(`dex/${hat}`);
    expect(created?.grant.tools.toSorted()).toEqual([...tools, 'scratchpad'].toSorted());
  });

  it('looking hats use the shell only for git commands that show something', async () => {
    const commands = ['git log -1', 'git show HEAD:a.txt', 'git branch -D main', 'git log --output=x', 'git checkout other', 'cat a.txt'];
    const { world } = await playScript(
      dex(),
      [
        root(createCalls(spawn('look')), { text: 'ok' }),
        child('look', createCalls(...commands.map((command) => createCall('bash', { command }))), { text: 'seen' }),
      ],
      { rules: ['allow bash'] },
    );
    const asked = selectFacts(world, 'tool.asked', createChildId(1)).map(({ data }) => data.decision.action);
    expect(asked).toEqual(['allow', 'allow', 'deny', 'deny', 'deny', 'deny']);
  });

  it('the owner’s own hats have their tools, prompt, turns and rules', async () => {
    const hats = { tester: { prompt: 'Run the tests.', tools: ['read', 'bash'], max_turns: 4, rules: ['deny bash:rm *'] } };
    const world = await openWorld(dex({ hats }), [
      root(createCalls(spawn('look', { hat: 'tester' })), { text: 'ok' }),
      child('look', { text: 'seen' }),
    ]);
    await (await world.runtime.start({ task: 'work' })).outcome;
    const created = selectFacts(world, 'run.created', createChildId(1))[0]?.data;
    expect([created?.agent, created?.grant.limits.maxTurns?.value]).toEqual(['dex/tester', 4]);
    expect(created?.grant.tools.toSorted()).toEqual(['bash', 'read', 'scratchpad']);
    expect(JSON.stringify(created?.grant.rulesets)).toContain('rm *');
    const started = selectFacts(world, 'run.started', createChildId(1))[0]?.data;
    expect(await world.store.blob(started?.system ?? '')).toContain('Run the tests.');
    await world[Symbol.asyncDispose]();
  });

  it('the editor hat is for a root alone', async () => {
    const world = await openWorld(dex(), [
      { when: { agent: 'dex/editor' }, steps: [createCalls(spawn('look', { hat: 'editor' })), { text: 'ok' }] },
    ]);
    await (await world.runtime.start({ task: 'work', agent: 'dex/editor' })).outcome;
    expect(selectResults(world)[0]).toMatchObject({ status: 'error', output: expect.stringContaining('hat:') });
    await world[Symbol.asyncDispose]();
  });
});

it('Memory inheritance optional', async () => {
  const notes = createMemoryNotes();
  const steps = root(createCalls(spawn('look with')), createCalls(spawn('look without')), { text: 'ok' });
  steps.steps[0] = createCalls(spawn('look with', { inherit_memories: true }));
  const world = await openWorld(dex(), [steps, child('look with', { text: 'a' }), child('look without', { text: 'b' })], { notes });
  await notes.memories.put(world.workspace, { title: 'db', text: 'start it with make db', at: '2026-01-01T00:00:00.000Z' });
  await (await world.runtime.start({ task: 'work' })).outcome;
  const first = [1, 2].map((n) => selectFacts(world, 'run.started', createChildId(n))[0]?.data.first ?? '');
  expect(first[0]).toContain('## Project Knowledge\n\n- **db**: start it with make db\n\n');
  expect(first[1]).not.toContain('Project Knowledge');
  await world[Symbol.asyncDispose]();
});

it('memories are only offered when they are inherited, and then read-only', async () => {
  const memory = (args: object) => createCall('memory', args);
  const { world } = await playScript(dex(), [
    root(createCalls(spawn('look with', { inherit_memories: true })), createCalls(spawn('look without')), { text: 'ok' }),
    child('look with', createCalls(memory({ action: 'list' }), memory({ action: 'add', title: 't', text: 'x' })), { text: 'a' }),
    child('look without', createCalls(memory({ action: 'list' })), { text: 'b' }),
  ]);
  const offered = [1, 2].map((n) => selectFacts(world, 'run.created', createChildId(n))[0]?.data.grant.tools.includes('memory'));
  expect(offered).toEqual([true, false]);
  expect([1, 2].map((n) => selectResults(world, createChildId(n)).map(({ status }) => status))).toEqual([['ok', 'denied'], ['denied']]);
});

it('File pre-reading works', async () => {
  const { world } = await playScript(
    dex(),
    [root(createCalls(spawn('look', { files: ['big.txt'] })), { text: 'ok' }), child('look', { text: 'seen' })],
    { files: { 'big.txt': 'y'.repeat(10_500) } },
  );
  const first = selectFacts(world, 'run.started', createChildId(1))[0]?.data.first ?? '';
  expect(first).toContain(`### big.txt\n\`\`\`\n${'y'.repeat(10_000)}\n\`\`\`\n[cut at 10000 characters; the file has more]\n`);
});

it('Summary mode returns condensed result, full mode the whole text', async () => {
  const said = () => [{ text: 'first I look', ...createCalls(createCall('list', { path: '.' })) }, { text: 'the end' }];
  const { results } = await playScript(dex(), [
    root(createCalls(spawn('look a'), spawn('look b', { summary_mode: false })), { text: 'ok' }),
    child('look a', ...said()),
    child('look b', ...said()),
  ]);
  expect(results[0]?.output).not.toContain('first I look');
  expect(results[1]?.output).toContain('first I look\nthe end');
});

it('Artifacts (created files) tracked', async () => {
  const { results } = await playScript(dex(), [
    root(createCalls(spawn('make', { hat: 'creator' })), { text: 'ok' }),
    child('make', createCalls(createCall('write', { path: 'new.txt', content: 'x' })), { text: 'made' }),
  ]);
  expect(results[0]?.output).toContain('made\n</run-output>\n<run-output run="0000000000000002">\n\n**Artifacts:**\n- new.txt: created\n');
});

it('Artifacts: files that commands created, changed or deleted count too, each once', async () => {
  const bash = (command: string) => createCalls(createCall('bash', { command }));
  const { results } = await playScript(
    dex(),
    [
      root(createCalls(spawn('make', { hat: 'creator' })), { text: 'ok' }),
      child(
        'make',
        createCalls(createCall('write', { path: 'new.txt', content: 'x' })),
        bash('echo more >> new.txt; mkdir out; echo made > out/a.txt; rm old.txt; mkdir .git; echo no > .git/x'),
        bash('true'),
        { text: 'made' },
      ),
    ],
    { rules: ['allow bash'], files: { 'old.txt': 'old', 'same.txt': 'same' } },
  );
  const [, artifacts] = /\*\*Artifacts:\*\*\n((?:- .*\n)+)/.exec(results[0]?.output ?? '') ?? [];
  expect(artifacts?.trim().split('\n')).toEqual(['- new.txt: created', '- old.txt: deleted', '- out/a.txt: created']);
});

it('a long result keeps its truncation notice, artifacts and counts', async () => {
  const { results } = await playScript(dex(), [
    root(createCalls(spawn('make', { hat: 'creator' })), { text: 'ok' }),
    child('make', createCalls(createCall('write', { path: 'new.txt', content: 'x' })), { text: 'x'.repeat(20_000) }),
  ]);
  expect(results[0]?.output).toContain('\n[truncated: kept 16384 of 20000 bytes]\n');
  expect(results[0]?.output).toContain('- new.txt: created\n');
  expect(results[0]?.output).toMatch(/\*\(2 iterations, \d+ tokens\)\*$/);
});

it('Parallel execution: three at once, others queue', async () => {
  const clock = createHandClock();
  const names = ['a', 'b', 'c', 'd'];
  const runs = [
    root(createCalls(...names.map((name) => spawn(`do ${name}`))), { text: 'ok' }),
    ...names.map((name) => child(`do ${name}`, { delayMs: 1000, text: name })),
  ];
  const world = await openWorld(dex(), runs, { clock });
  const run = await world.runtime.start({ task: 'work' });
  await clock.advance(1000);
  expect(selectFacts(world, 'run.started')).toHaveLength(5);
  expect(selectFacts(world, 'child.ended').map((fact) => fact.data.outcome.summary)).toEqual(['a', 'b', 'c']);
  await clock.advance(1000);
  expect((await run.outcome).durationMs).toBe(2000);
  await world[Symbol.asyncDispose]();
});

it('Shared scratchpad: what one subagent writes, another reads', async () => {
  const { world } = await playScript(dex(), [
    root(createCalls(spawn('write it')), createCalls(spawn('read it')), { text: 'ok' }),
    child('write it', createCalls(createCall('scratchpad', { action: 'add', text: 'the port is 4711' })), { text: 'a' }),
    child('read it', createCalls(createCall('scratchpad', { action: 'read' })), { expect: { prompt: 'the port is 4711' }, text: 'b' }),
  ]);
  expect(selectResults(world, createChildId(2))[0]).toMatchObject({ status: 'ok' });
});

it('Cost tracking: of each subagent and of the tree', async () => {
  const usage = { usage: { input: 250_000, output: 0 } };
  const { world, outcome } = await playScript(dex(), [
    root({ ...createCalls(spawn('a'), spawn('b')), ...usage }, { text: 'ok', ...usage }),
    child('a', { text: 'a', ...usage }),
    child('b', { text: 'b', ...usage }),
  ]);
  expect(selectFacts(world, 'child.ended', rootId).map((fact) => fact.data.outcome.costUsd)).toEqual([0.25, 0.25]);
  expect(outcome.costUsd).toBe(1);
});

it('enabled: false refuses, and no subagent is created', async () => {
  const { results, world } = await playScript(dex({ enabled: false }), [root(createCalls(spawn('look')), { text: 'ok' })]);
  expect(results[0]).toEqual({ status: 'error', output: 'subagents are not enabled (`dialects.dex.enabled`)' });
  expect(selectFacts(world, 'child.created')).toHaveLength(0);
});
