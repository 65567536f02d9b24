// Acceptance checks of a brief: real commands, after the model says that it is done.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createMemoryStore, createRetinue } from '../../src/main/index.ts';
import { checkInvariants, scriptedModel } from '../../src/main/testing.ts';
import type { Store } from '../../src/ports/store.ts';
import { createDyingStore } from '../flows/support.ts';

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
    await using denied = create([{ text: 'looked' }], { rules: ['deny bash'] });
    const run = await denied.delegate({ task: 'x', checks: [{ command: 'touch made.txt' }] });
    expect(await run.outcome).toMatchObject({ status: 'completed', verified: false });
    expect(await statuses(denied, run.id)).toEqual(['refused']);
  });

  it.each([
    { idempotent: false, expected: ['unknown'], verified: false },
    { idempotent: true, expected: ['passed'], verified: true },
  ])('that were cut off are repeated only if they are idempotent ($idempotent)', async ({ idempotent, expected, verified }) => {
    const store = createMemoryStore();
    const workspace = createWorkspace();
    const dying = createDyingStore(store, 1000);
    const check = { command: 'test -f go || { touch began; while ! test -f go; do sleep 0.05; done; }', idempotent };
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
    expect(await handle?.outcome).toMatchObject({ status: 'completed', verified });
    expect(await statuses(second, run.id)).toEqual(expected);
    await lost;
    await second.close();
  });
});
