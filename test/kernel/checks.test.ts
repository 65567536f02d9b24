// Acceptance checks of a brief: real commands, after the model says that it is done.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Fact, FactOf } from '../../src/contract/fact.ts';
import { createMemoryStore, createRetinue } from '../../src/main/index.ts';
import { checkInvariants, scriptedModel } from '../../src/main/testing.ts';
import type { Store } from '../../src/ports/store.ts';
import { replayRun } from '../../src/records/replay.ts';
import { createDyingStore } from '../support/dying-store.ts';

const write = { calls: [{ tool: 'write', args: { path: 'done.txt', content: 'yes\n' } }] };
const rules = ['allow bash', 'allow write'];
const checks = [{ command: 'test -f done.txt' }];

function createWorkspace(): string {
  const workspace = mkdtempSync(join(tmpdir(), 'retinue-checks-'));
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }));
  return workspace;
}

function create(steps: object[], more: object = {}, store: Store = createMemoryStore()) {
  const model = scriptedModel({ runs: [{ steps }] });
  return createRetinue({ model, workspace: createWorkspace(), rules, store: { ...store, close: async () => {} }, ...more });
}

const statuses = async (retinue: ReturnType<typeof create>, id: string) =>
  (await retinue.api.logs(id)).flatMap((fact) => (fact.type === 'check.finished' && 'data' in fact ? [fact.data.status] : []));

describe('acceptance checks', () => {
  it('tell what is verified from what is only claimed', async () => {
    const store = createMemoryStore();
    const retinue = create([write, { text: 'done' }], {}, store);
    const run = await retinue.delegate({ task: 'x', checks });
    expect(await run.outcome).toMatchObject({ status: 'completed', verified: true, summary: 'done' });
    expect(await statuses(retinue, run.id)).toEqual(['passed']);
    await retinue.close();
    expect(await checkInvariants(store)).toEqual([]);
  });

  it('leave the outcome of a run without checks unverified, and its log as it was before there were checks', async () => {
    const store = createMemoryStore();
    await using retinue = create([{ text: 'done' }], {}, store);
    const run = await retinue.delegate({ task: 'x' });
    expect(await run.outcome).toMatchObject({ success: true, verified: null });
    expect((await retinue.api.show(run.id)).outcome).toEqual(await run.outcome);
    const [ended] = await store.facts({ runId: run.id, types: ['run.ended'] });
    expect(ended).toMatchObject({ v: 1, data: { outcome: expect.not.objectContaining({ verified: expect.anything() }) } });
    expect((ended as { data: { outcome: object } }).data.outcome).not.toHaveProperty('verified');
  });

  it('go back to the model when they fail, and pass after its repair', async () => {
    const store = createMemoryStore();
    const retinue = create([{ text: 'done' }, { expect: { prompt: 'this failed' }, ...write }, { text: 'now it is' }], {}, store);
    const run = await retinue.delegate({ task: 'x', checks: [...checks, { command: 'cat done.txt' }] });
    expect(await run.outcome).toMatchObject({ status: 'completed', verified: true, summary: 'now it is', turns: 3 });
    expect(await statuses(retinue, run.id)).toEqual(['failed', 'failed', 'passed', 'passed']);
    await retinue.close();
    expect(await checkInvariants(store)).toEqual([]);
  });

  it('are reported with their output if they took too long', async () => {
    const command = 'echo PROGRESS; sleep 600';
    // On a busy machine the command may need longer to start than the first time limit.
    for (const timeoutMs of [500, 5_000, 30_000]) {
      await using retinue = create([{ text: 'done' }]);
      const run = await retinue.delegate({ task: 'x', checks: [{ command, timeoutMs }], maxCheckRounds: 1 });
      expect(await run.outcome).toMatchObject({ error: { code: 'check_failed' } });
      const facts = (await retinue.api.logs(run.id)) as Fact[];
      const [finished] = facts.filter((fact): fact is FactOf<'check.finished'> => fact.type === 'check.finished');
      const reason = `\n[the check took longer than ${timeoutMs} ms and was stopped]`;
      expect(finished?.data).toMatchObject({ status: 'failed', output: expect.stringContaining(reason) });
      if (finished?.data.output.startsWith('PROGRESS\n[stopped before it was done]\n')) return;
    }
    throw new Error('the output of the command is missing');
  });

  it('fail the run after the last round', async () => {
    await using retinue = create([{ text: 'done' }, { text: 'really' }]);
    const outcome = await (await retinue.delegate({ task: 'x', checks, maxCheckRounds: 2 })).outcome;
    expect(outcome).toMatchObject({
      status: 'failed',
      verified: false,
      error: { code: 'check_failed', message: expect.stringContaining('test -f done.txt') },
    });
  });

  it('have the rights of whoever wrote the brief, not those of the agent', async () => {
    await using allowed = create([{ text: 'looked' }]);
    expect(await (await allowed.delegate({ task: 'x', agent: 'explore', checks: [{ command: 'true' }] })).outcome).toMatchObject({
      verified: true,
    });
  });

  it.each([
    { rules: ['deny bash'], message: /`touch made.txt` cannot be run: bash is not allowed for it \(rule `deny bash`/ },
    { rules: ['ask bash'], message: /it would need approval, which a check cannot ask for .* such as `allow bash:touch made.txt`/ },
    { rules, command: 'echo "unfinished', message: /`echo "unfinished` cannot be run: (?!.*such as `allow)/ },
  ])(
    'refuse the brief before anything is spent if the rules do not allow a command ($rules)',
    async ({ message, command, rules: given }) => {
      const store = createMemoryStore();
      await using retinue = create([{ text: 'never' }], { rules: given }, store);
      const brief = { task: 'x', checks: [{ command: command ?? 'touch made.txt' }] };
      await expect(retinue.delegate(brief)).rejects.toMatchObject({ code: 'invalid_brief', message: expect.stringMatching(message) });
      expect((await store.runs({ order: 'oldest' })).filter(({ kind }) => kind === 'agent')).toEqual([]);
    },
  );

  it('fail the run if the rules forbid a command while it works, and keep its work', async () => {
    const store = createMemoryStore();
    const retinue = create([write, { text: 'done' }], {}, store);
    const run = await retinue.delegate({ task: 'x', checks });
    await run.send('no more commands', ['deny bash']);
    expect(await run.outcome).toMatchObject({
      ...{ status: 'failed', success: false, verified: false, summary: 'done' },
      error: {
        code: 'check_failed',
        message: expect.stringContaining('an acceptance check was refused: test -f done.txt: bash is not allowed'),
      },
      artifacts: [{ kind: 'path' }, { kind: 'diff' }, { title: 'check: test -f done.txt', value: expect.stringContaining('"refused"') }],
    });
    await retinue.close();
    expect(await checkInvariants(store)).toEqual([]);
  });

  it('are artifacts of the outcome: those of the last round, with cut outputs', async () => {
    await using retinue = create([{ text: 'done' }, write, { text: 'now' }]);
    const command = 'head -c 5000 /dev/zero | tr "\\0" x';
    const outcome = await (await retinue.delegate({ task: 'x', checks: [...checks, { command }] })).outcome;
    const found = outcome.artifacts.filter(({ title }) => title?.startsWith('check: '));
    expect(found.map(({ kind, title }) => [kind, title])).toEqual([
      ['json', 'check: test -f done.txt'],
      ['json', `check: ${command}`],
    ]);
    expect(JSON.parse(found[0]?.value ?? '')).toEqual({ status: 'passed', round: 2, output: expect.any(String) });
    expect(JSON.parse(found[1]?.value ?? '').output.length).toBeLessThan(2_200);
  });

  it('were no artifacts in version 3 of the last fact: such a log replays as it is', async () => {
    const store = createMemoryStore();
    await using retinue = create([write, { text: 'done' }], {}, store);
    const run = await retinue.delegate({ task: 'x', checks });
    await run.outcome;
    const facts = (await store.facts({ runId: run.id })) as Fact[];
    const ended = facts.at(-1) as FactOf<'run.ended'>;
    const { outcome } = ended.data;
    expect(ended.v).toBe(4);
    const older = (v: number) => {
      const last = { ...ended, v, data: { outcome: { ...outcome, artifacts: outcome.artifacts.filter(({ kind }) => kind !== 'json') } } };
      return replayRun([...facts.slice(0, -1), last], null).difference?.what ?? null;
    };
    expect([older(3), older(4)]).toEqual([null, 'the outcome']);
  });

  it.each([
    { idempotent: false, expected: ['unknown'], verified: false },
    { idempotent: undefined, expected: ['passed'], verified: true },
  ])('that were cut off are repeated, unless they are not idempotent ($idempotent)', async ({ idempotent, expected, verified }) => {
    const store = createMemoryStore();
    const workspace = createWorkspace();
    const dying = createDyingStore(store, 1000);
    const check = {
      command: 'test -f go || { touch began; while ! test -f go; do sleep 0.05; done; }',
      ...(idempotent === false && { idempotent }),
    };
    const first = createRetinue({ model: scriptedModel({ runs: [{ steps: [{ text: 'done' }] }] }), workspace, rules, store: dying.store });
    const run = await first.delegate({ task: 'x', checks: [check] });
    const lost = run.outcome.catch(() => {});
    await expect.poll(async () => (await store.facts({ runId: run.id, types: ['check.started'] })).length).toBe(1);
    await dying.bury();
    writeFileSync(join(workspace, 'go'), '');
    const second = createRetinue({
      model: scriptedModel({ runs: [{ steps: [{ text: 'done' }] }] }),
      workspace,
      rules,
      store: { ...store, close: async () => {} },
    });
    const [handle] = await second.api.resume(run.id);
    expect(await handle?.outcome).toMatchObject({ status: verified ? 'completed' : 'failed', verified });
    expect(await statuses(second, run.id)).toEqual(expected);
    await lost;
    await second.close();
  });
});
