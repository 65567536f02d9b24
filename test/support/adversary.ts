// What the adversarial tests have in common: tools and models that misbehave, a store that fails, and a check of all that was written.
import { expect } from 'vitest';
import { z } from 'zod';
import type { Fact, StoredFact } from '../../src/contract/fact.ts';
import { genesisHash } from '../../src/kernel/journal.ts';
import type { AppendResult, Store, TreeAppend } from '../../src/ports/store.ts';
import type { AnyTool } from '../../src/ports/tool.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { canonical, factHash } from '../../src/text/canonical.ts';
import type { World } from './world.ts';

export const anyAgent = { name: 'any', description: '', prompt: 'You work.', source: 'test' };

export function tool(name: string, execute: AnyTool['execute'], more: Partial<AnyTool> = {}): AnyTool {
  const input = z.strictObject({ n: z.number().optional() });
  return { name, description: name, input, readOnly: true, idempotent: true, subjects: () => [], execute, ...more };
}

export async function microtasks(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await null;
}

/** Until nothing is under way that needs no clock. */
export async function settled(): Promise<void> {
  for (let n = 0; n < 5; n++) await new Promise((resolve) => setImmediate(resolve));
}

export type Fault = 'reject' | 'fenced' | 'conflict';

/** A memory store whose appends fail as `fault` says; it sees each unit before it is written. `appended` are the trees of each append. */
export function faultyStore(fault: (unit: TreeAppend, append: number) => Fault | null): Store & { appended: string[][] } {
  const store = createMemoryStore();
  const appended: string[][] = [];
  return {
    ...store,
    appended,
    async append(owner, units) {
      const nth = appended.push(units.map((unit) => unit.rootId));
      const faults = units.map((unit) => fault(unit, nth));
      if (faults.includes('reject')) throw new Error('the disk is full');
      const good = units.filter((_, i) => faults[i] === null);
      const results = await store.append(owner, good);
      return faults.map(
        (each): AppendResult => (each === null ? (results.shift() as AppendResult) : { ok: false, reason: each as 'fenced' }),
      );
    },
  };
}

/** Numbers, hashes and ends of everything in the store (J1, invariants 1 and 2). `open`: runs that need not have ended. */
export async function checkJournal(world: Pick<World, 'store'>, open: string[] = []): Promise<Map<string, StoredFact[]>> {
  const runs = new Map<string, StoredFact[]>();
  for (const fact of await world.store.facts({})) runs.set(fact.runId, [...(runs.get(fact.runId) ?? []), fact]);
  for (const [runId, facts] of runs) {
    let prev = genesisHash;
    facts.forEach((fact, i) => {
      expect([fact.runId, fact.seq]).toEqual([runId, i + 1]);
      const text = canonical(fact.data);
      expect(text.isWellFormed()).toBe(true);
      expect(canonical(JSON.parse(text))).toBe(text);
      expect(factHash(fact as Fact, text, prev), `${runId} ${fact.seq} ${fact.type}`).toBe(fact.hash);
      prev = fact.hash;
    });
    expect(facts[0]?.type).toBe('run.created');
    const ends = facts.flatMap((fact, i) => (fact.type === 'run.ended' ? [i] : []));
    if (!open.includes(runId)) expect(ends, `the ends of ${runId}`).toEqual([facts.length - 1]);
    checkChildren(facts, runs);
  }
  return runs;
}

function checkChildren(facts: StoredFact[], runs: Map<string, StoredFact[]>): void {
  const created = facts.flatMap((fact) => (fact.type === 'child.created' ? [fact.data] : []));
  const ended = facts.flatMap((fact) => (fact.type === 'child.ended' ? [fact.data] : []));
  for (const { childId, hash } of created) expect(runs.get(childId)?.[0]?.hash, `the first hash of ${childId}`).toBe(hash);
  for (const { childId, hash, outcome } of ended) {
    const last = runs.get(childId)?.at(-1);
    expect(last?.hash, `the last hash of ${childId}`).toBe(hash);
    expect(last?.data).toEqual({ outcome });
  }
  if (facts.at(-1)?.type === 'run.ended')
    expect(ended.map((each) => each.childId).sort()).toEqual(created.map((each) => each.childId).sort());
}

export const idle = { active: 0, queued: 0, timers: 0, runs: 0, trees: 0 };
