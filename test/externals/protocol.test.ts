// External agents over ACP alone, with their own login: what they report becomes facts, and their questions go through rules and approvals.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseRule } from '../../src/rules/policy.ts';
import { createExternalWorld, processesWith } from './support.ts';

const allowAll = [{ kind: 'owner' as const, owner: 'test', rules: ['allow *'].map(parseRule) }];
const withRules = (...rules: string[]) => [{ kind: 'owner' as const, owner: 'test', rules: ['allow *', ...rules].map(parseRule) }];

describe('an external agent over ACP', () => {
  it('gets the brief, and its text is the summary', async () => {
    await using world = await createExternalWorld({ script: { turns: [[{ think: 'hm' }, { echo: true }]] }, rulesets: allowAll });
    const run = await world.runtime.start({ task: 'count the files', agent: 'fake' });
    const outcome = await run.outcome;
    expect(outcome).toMatchObject({ status: 'completed', costUsd: null, turns: 1 });
    expect(outcome.summary).toContain('You are a fake.');
    expect(outcome.summary).toContain('count the files');
    expect(outcome.notices?.join('\n')).toMatch(/own login, so tokens are as the agent reports them/);
    expect(outcome.notices?.join('\n')).toMatch(/there is no sandbox/);
    expect(world.types(run.id)).toEqual([
      ...['run.created', 'workspace.prepared', 'run.started', 'session.opened', 'session.prompted', 'model.asked', 'model.answered'],
      ...['workspace.saved', 'run.ended'],
    ]);
  });

  it('makes allowed calls, which become facts under our tool names', async () => {
    const call = { id: 'c1', input: { command: 'echo made > made.txt; echo hello' } };
    await using world = await createExternalWorld({
      script: { turns: [[{ say: 'I look. ' }, { call }, { say: 'Done.' }]] },
      rulesets: allowAll,
    });
    const run = await world.runtime.start({ task: 'go', agent: 'fake' });
    const outcome = await run.outcome;
    expect(outcome).toMatchObject({ status: 'completed', summary: 'Done.', turns: 2 });
    const asked = world.facts.find((fact) => fact.type === 'tool.asked');
    expect(asked?.data).toMatchObject({ tool: 'bash', arguments: { command: call.input.command }, rejected: null, idempotent: false });
    const finished = world.facts.find((fact) => fact.type === 'tool.finished');
    expect(finished?.data).toMatchObject({ status: 'ok', output: 'hello\n', taint: ['external'] });
    // It works on its own copy of the files.
    expect(existsSync(join(world.workspace, 'made.txt'))).toBe(false);
    expect(outcome.artifacts).toMatchObject([{ kind: 'diff', value: 'made.txt +1 -0' }]);
  });

  it('is checked when it says that it is done, and gets the failures', async () => {
    const call = { id: 'c1', input: { command: 'echo made > made.txt' } };
    await using world = await createExternalWorld({
      script: { turns: [[{ say: 'I claim it.' }], [{ echo: true }, { call }, { say: 'Now it is.' }]] },
      rulesets: allowAll,
    });
    const run = await world.runtime.start({ task: 'make made.txt', agent: 'fake', checks: [{ command: 'test -f made.txt' }] });
    expect(await run.outcome).toMatchObject({ status: 'completed', verified: true, summary: 'Now it is.' });
    const prompts = world.facts.flatMap((fact) => (fact.type === 'session.prompted' ? [fact.data.text] : []));
    expect(prompts).toHaveLength(2);
    expect(prompts[1]).toContain('$ test -f made.txt');
    const statuses = world.facts.flatMap((fact) => (fact.type === 'check.finished' ? [fact.data.status] : []));
    expect(statuses).toEqual(['failed', 'passed']);
  });

  it('is nudged when a refusal ends its turn', async () => {
    const call = { id: 'c1', input: { command: 'rm -rf x' }, endsOnRefusal: true };
    await using world = await createExternalWorld({
      script: { turns: [[{ call }], [{ echo: true }]] },
      rulesets: withRules('deny bash:rm *'),
    });
    const run = await world.runtime.start({ task: 'go', agent: 'fake' });
    const outcome = await run.outcome;
    expect(outcome).toMatchObject({ status: 'completed' });
    expect(outcome.summary).toContain('Your call of bash: denied: bash is not allowed');
    expect(world.facts.filter((fact) => fact.type === 'session.prompted')).toHaveLength(2);
  });

  it('gets one answer from one approval, although it asks twice', async () => {
    const call = { id: 'c1', input: { command: 'echo hi' }, ask: 2 };
    await using world = await createExternalWorld({
      script: { turns: [[{ call }, { say: 'Done.' }]] },
      rulesets: withRules('ask bash'),
      options: { questions: { canAnswer: () => true } },
    });
    world.runtime.listen((event) => {
      if (event.type !== 'approval.asked') return;
      const { turn, index, hash } = event.data;
      void run.answer({ turn, index, hash }, { allowed: true, by: 'test' });
    });
    const run = await world.runtime.start({ task: 'go', agent: 'fake' });
    expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'Done.' });
    expect(world.types().filter((type) => type.startsWith('approval.'))).toEqual(['approval.asked', 'approval.answered']);
  });

  it('fails if the agent makes a denied call without asking', async () => {
    const call = { id: 'c1', input: { command: 'rm -rf x' }, ask: 0 };
    await using world = await createExternalWorld({
      script: { turns: [[{ call }, { hang: true }]] },
      rulesets: withRules('deny bash:rm *'),
    });
    const run = await world.runtime.start({ task: 'go', agent: 'fake' });
    expect(await run.outcome).toMatchObject({ status: 'failed', error: { code: 'denied' } });
  });

  it('gets messages as its next prompt, in order', async () => {
    await using world = await createExternalWorld({
      script: { turns: [[{ call: { id: 'c1', input: { command: 'sleep 0.5' } } }, { say: 'first' }], [{ echo: true }]] },
      rulesets: allowAll,
    });
    const run = await world.runtime.start({ task: 'go', agent: 'fake' });
    const isWorking = Promise.withResolvers<void>();
    world.runtime.listen((event) => event.type === 'tool.asked' && isWorking.resolve());
    await isWorking.promise;
    await run.send('one more thing');
    await run.send('and another');
    const { summary } = await run.outcome;
    expect(summary.indexOf('one more thing')).toBeGreaterThan(-1);
    expect(summary.indexOf('and another')).toBeGreaterThan(summary.indexOf('one more thing'));
  });

  it.each([
    ['submits a result', [[{ submit: { n: 1 } }, { say: 'Done.' }]]],
    ['submits a wrong result first', [[{ submit: { n: 'x' } }, { submit: { n: 1 } }, { say: 'Done.' }]]],
    ['answers with a block', [[{ say: 'Here:\n```json\n{"n": 1}\n```' }]]],
    ['answers with a block after a nudge', [[{ say: 'Done.' }], [{ say: '```json\n{"n": 1}\n```' }]]],
  ])('%s', async (_, turns) => {
    await using world = await createExternalWorld({ script: { turns }, rulesets: allowAll });
    const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
    const run = await world.runtime.start({ task: 'count', agent: 'fake', result: { schema } });
    expect(await run.outcome).toMatchObject({ status: 'completed', data: { n: 1 } });
  });

  it('counts tokens as the agent says, as an estimate', async () => {
    await using world = await createExternalWorld({
      script: { turns: [[{ say: 'Done.' }]], usage: { inputTokens: 10, outputTokens: 1e30 } },
      rulesets: allowAll,
    });
    const run = await world.runtime.start({ task: 'go', agent: 'fake' });
    expect(await run.outcome).toMatchObject({ status: 'completed' });
  });

  it('survives output that is huge, too long or no message, and refuses file access of the protocol', async () => {
    const steps = [{ garbage: true }, { line: 17 * 1024 * 1024 }, { fs: true }, { huge: 6 * 1024 * 1024 }];
    await using world = await createExternalWorld({ script: { turns: [steps] }, rulesets: allowAll });
    const run = await world.runtime.start({ task: 'go', agent: 'fake' });
    const { status, summary } = await run.outcome;
    expect(status).toBe('completed');
    expect(summary).toContain('fs/write_text_file is not available');
    expect(summary.length).toBeLessThan(5 * 1024 * 1024);
  });
});

describe('the end of an external agent', () => {
  const stubborn = { turns: [[{ leave: true }, { hang: true }]], ignoresCancel: true, staysAtEnd: true };

  it.each([
    ['is cancelled', { isConfined: false }],
    ['is cancelled in a sandbox', { isConfined: true }],
  ])('leaves no process when it %s', async (_, { isConfined }) => {
    await using world = await createExternalWorld({ script: stubborn, rulesets: allowAll, isConfined });
    const run = await world.runtime.start({ task: 'go', agent: 'fake' });
    await expect.poll(() => world.types(run.id), { timeout: 20_000 }).toContain('session.prompted');
    await expect.poll(() => processesWith(world.state).length, { timeout: 10_000 }).toBeGreaterThan(0);
    await run.cancel('enough');
    expect(await run.outcome).toMatchObject({ status: 'cancelled' });
    expect(processesWith(world.state)).toEqual([]);
  });

  it('comes at the deadline', async () => {
    await using world = await createExternalWorld({ script: { turns: [[{ hang: true }]] }, rulesets: allowAll });
    const run = await world.runtime.start({ task: 'go', agent: 'fake', limits: { timeoutMs: 1500 } });
    expect(await run.outcome).toMatchObject({ status: 'timed_out' });
    expect(processesWith(world.state)).toEqual([]);
  });

  it.each([
    ['breaks off', { turns: [[{ exit: 3 }]] }, 'exit code 3'],
    ['is not logged in', { refuses: 'Authentication required' }, 'log in'],
    ['speaks another version', { protocol: 2 }, 'version 1 is needed'],
  ])('is explained when the agent %s', async (_, script, message) => {
    await using world = await createExternalWorld({ script, rulesets: allowAll });
    const run = await world.runtime.start({ task: 'go', agent: 'fake' });
    const { error } = await run.outcome;
    expect(error).toMatchObject({ code: 'agent_program' });
    expect(error?.message).toContain(message);
  });
});
