// What must be true after the torture of a cluster: nothing lost, nothing repeated, nothing stuck.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { StoredFact } from '../../src/contract/fact.ts';
import { checkInvariants } from '../../src/testing/invariants.ts';
import { readAllFacts } from '../support/postgres/all-facts.ts';
import { runSql } from '../support/postgres/sql.ts';
import { effectFaults } from './check.ts';
import type { Course } from './cluster.ts';

const bin = resolve(import.meta.dirname, '../../bin/retinue.js');
const runsPerTree = 9;

/** Adds what is wrong to `sum.failed`. */
export async function clusterFaults({ store, sum, queued, folder, workspaces, env, url }: Course & { url: string }): Promise<void> {
  const facts = await readAllFacts(store);
  const violations = await checkInvariants({ ...store, facts: async () => facts });
  sum.failed.push(...violations.map(({ invariant, runId, what }) => `${invariant}: ${runId} ${what}`));
  const rows = await store.runs({ order: 'oldest' });
  const rootOf = new Map(rows.map(({ runId, rootId }) => [runId, rootId]));
  const trees = Map.groupBy(facts, ({ runId }) => rootOf.get(runId) ?? '');
  const effects = readEffects(workspaces);
  for (const [name, rootId] of queued) {
    const tree = trees.get(rootId);
    if (tree === undefined) sum.failed.push(`the tree ${name} was queued and is lost`);
    else sum.failed.push(...treeFaults(tree).map((what) => `tree ${name}: ${what}`), ...effectFaults(tree, effects));
  }
  if (trees.size !== queued.size) sum.failed.push(`${queued.size} trees were queued, and there are ${trees.size}`);
  sum.failed.push(...(await queueFaults(url)));
  await promisify(execFile)(process.execPath, [bin, 'verify'], { cwd: folder, env: { ...env, RETINUE_DB: url } }).catch((error: Error) =>
    sum.failed.push(`verify: ${error.message}`),
  );
  sum.runs = rows.length;
  sum.facts = facts.length;
  sum.unknown = facts.filter((fact) => fact.type === 'tool.finished' && fact.data.status === 'unknown').length;
  sum.takeovers = facts.filter((fact) => isTakeover(fact) && rootOf.get(fact.runId) === fact.runId).length;
}

export function isTakeover(fact: StoredFact): boolean {
  return fact.type === 'run.resumed' && fact.data.takeover === true;
}

/** Every run succeeded, so none ended as `failed: crashed` either. */
function treeFaults(facts: StoredFact[]): string[] {
  const faults: string[] = [];
  const runs = facts.filter((fact) => fact.type === 'run.created').length;
  if (runs !== runsPerTree) faults.push(`it has ${runs} runs, not ${runsPerTree}`);
  for (const fact of facts)
    if (fact.type === 'run.ended' && !fact.data.outcome.success)
      faults.push(
        `run ${fact.runId} ended ${fact.data.outcome.status}: ${fact.data.outcome.error?.code} ${fact.data.outcome.error?.message}`,
      );
  return faults;
}

/** No job is left, neither in the queue nor beside it. */
async function queueFaults(url: string): Promise<string[]> {
  const open = await runSql(url, 'SELECT root, problem FROM retinue.jobs WHERE id IS NOT NULL');
  const jobs = await runSql(url, "SELECT id, state, data FROM retinue_queue.job WHERE data ? 'root' AND state <> 'completed'");
  return [...open, ...jobs].map((row) => `a job is left: ${JSON.stringify(row)}`);
}

/** The times at which each effect took place. */
function readEffects(workspaces: string[]): Map<string, number[]> {
  return new Map(workspaces.flatMap((folder) => [...readWorkspace(join(folder, 'effects'))]));
}

function readWorkspace(path: string): Map<string, number[]> {
  const read = (name: string) => readFileSync(join(path, name), 'utf8').trim().split('\n').map(Number);
  return new Map(readdirSync(path).map((name) => [name, read(name)]));
}
