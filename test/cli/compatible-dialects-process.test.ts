// Prompts of Claude Code and Codex on the command line: real processes, a real database, the scripts of examples/dialects.
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { createPlace, type Place } from './support-process.ts';

const examples = resolve(import.meta.dirname, '../../examples/dialects');

async function play(place: Place, dialect: string, task: string) {
  copyFileSync(join(examples, `${dialect}.json`), join(place.folder, 'script.json'));
  const run = await place.run('run', '--dialect', dialect, '--json', task);
  expect(run.code, run.err).toBe(0);
  const { runId, summary } = JSON.parse(run.out) as { runId: string; summary: string };
  const { children } = JSON.parse((await place.run('show', runId, '--json')).out) as { children: { agent: string; status: string }[] };
  return { runId, summary, children: children.map(({ agent, status }) => [agent, status]) };
}

it('claude: two agents with the Task tool in parallel, and a message to one that has ended; the tree replays', async () => {
  using place = createPlace({ runs: [] });
  const { runId, summary, children } = await play(place, 'claude', 'Use the Task tool to launch 2 agents in parallel');
  expect(summary).toBe('There are no slow tests, and no documentation.');
  expect(children).toEqual([
    ['claude/explore', 'completed'],
    ['claude/explore', 'completed'],
    ['claude/explore', 'completed'],
  ]);
  const replay = await place.run('replay', runId);
  expect([replay.code, replay.out.match(/identical/g)?.length]).toEqual([0, 4]);
  expect((await place.run('verify', runId)).code).toBe(0);
});

it('codex: two agents, more input for one of them, and files that it changed; the tree replays', async () => {
  using place = createPlace({ runs: [] });
  const { runId, summary, children } = await play(place, 'codex', 'Spawn agents and wait for them');
  expect(summary).toBe('The notes are written.');
  expect(children.map(([agent]) => agent)).toEqual(['codex/explorer', 'codex/worker', 'codex/worker']);
  expect(readFileSync(join(place.folder, 'notes.txt'), 'utf8')).toBe('one\ntwo\n');
  const replay = await place.run('replay', runId);
  expect([replay.code, replay.out.match(/identical/g)?.length]).toEqual([0, 4]);
});

it('codex: after kill -9 during a wait, resume waits for the same agents and delivers each result once', async () => {
  const runs = (last: object) => [
    {
      when: { agent: 'codex/main' },
      steps: [
        { calls: [{ tool: 'spawn_agent', args: { message: 'be slow' } }] },
        { calls: [{ tool: 'wait_agent', args: { targets: ['{{run:1}}'], timeout_ms: 600_000 } }] },
        { expect: { prompt: 'slow but sure' }, text: 'all done' },
      ],
    },
    { when: { task: 'be slow' }, steps: [last] },
  ];
  using place = createPlace({ runs: runs({ delayMs: 600_000, text: 'never' }) });
  const started = place.start('run', '--dialect', 'codex', 'work');
  await place.facts((facts) => {
    const isWaiting = facts.some((fact) => fact.type === 'tool.asked' && fact.data.tool === 'wait_agent');
    return isWaiting && facts.filter((fact) => fact.type === 'model.asked').length === 3;
  });
  started.process.kill('SIGKILL');
  await started.finished;
  writeFileSync(join(place.folder, 'script.json'), JSON.stringify({ runs: runs({ text: 'slow but sure' }) }));
  const resumed = await place.run('resume');
  expect(resumed.code, resumed.err).toBe(0);
  const facts = await place.facts((all) => all.filter((fact) => fact.type === 'run.ended').length === 2);
  expect(facts.filter((fact) => fact.type === 'child.created')).toHaveLength(1);
  expect(facts.filter((fact) => fact.type === 'child.ended')).toHaveLength(1);
  const told = facts.flatMap((fact) => (fact.type === 'tool.finished' && fact.data.told.length > 0 ? [fact.data.output] : []));
  expect(told).toEqual([expect.stringContaining('{"completed":"slow but sure"}')]);
});

it('claude: an agent with isolation worktree works on its own copy, and delegate_apply takes its changes over', async () => {
  using place = createPlace({
    runs: [
      {
        when: { agent: 'claude/main' },
        steps: [
          {
            calls: [
              {
                tool: 'Agent',
                args: { description: 'write', prompt: 'write it', isolation: 'worktree', run_in_background: false },
              },
            ],
          },
          { expect: { prompt: 'delegate_apply {"ids":' }, calls: [{ tool: 'list', args: { path: '.' } }] },
          { calls: [{ tool: 'delegate_apply', args: { ids: ['{{run:1}}'] } }] },
          { expect: { prompt: '[applied · 1 run · 1 file] "new.txt"' }, text: 'applied' },
        ],
      },
      {
        when: { task: 'write it' },
        steps: [{ calls: [{ tool: 'write', args: { path: 'new.txt', content: 'new\n' } }] }, { text: 'written' }],
      },
    ],
  });
  const git = (...args: string[]) => execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: place.folder });
  git('init', '-q');
  git('add', '-A');
  git('commit', '-qm', 'base');
  const run = await place.run('run', '--dialect', 'claude', '--json', 'work');
  expect(run.code, run.err).toBe(0);
  const facts = await place.facts((all) => all.length > 0);
  const listed = facts.find((fact) => fact.type === 'tool.finished' && fact.data.turn === 2);
  expect(listed?.type === 'tool.finished' && listed.data.output).not.toContain('new.txt');
  expect(readFileSync(join(place.folder, 'new.txt'), 'utf8')).toBe('new\n');
});

it('settings of both dialects are read from the configuration, and wrong ones are named', async () => {
  using place = createPlace({ runs: [{ times: 'any', steps: [{ text: 'ok' }] }] });
  const write = (dialects: object) => writeFileSync(join(place.folder, 'own.json'), JSON.stringify({ dialects }));
  write({ codex: { max_depth: 2, max_threads: 3 }, claude: { max_concurrent_subagents: 4, models: { haiku: 'openai/x' } } });
  const limits = async (dialect: string) => {
    const run = await place.run('run', '--dialect', dialect, '--config', 'own.json', 'work');
    expect(run.code, run.err).toBe(0);
    const { grant } = JSON.parse((await place.run('show', 'last', '--json')).out);
    return [grant.limits.maxDepth.value, grant.limits.maxConcurrent.value];
  };
  expect([await limits('codex'), await limits('claude')]).toEqual([
    [2, 3],
    [3, 4],
  ]);
  write({ claude: { modles: {} } });
  const wrong = await place.run('run', '--dialect', 'claude', '--config', 'own.json', 'work');
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringMatching(/modles/)]);
});
