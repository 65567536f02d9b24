// What an idempotency key stands for: one brief. The same key with another brief is a mistake of the caller, who would take the result of one task for
// that of another.
import type { Brief } from '../../contract/brief.ts';
import { RetinueError } from '../../contract/error.ts';
import type { RunRow } from '../../contract/run.ts';
import type { Store } from '../../ports/store.ts';
import { canonical } from '../../text/canonical.ts';

/** The definition of an agent adds to these when its run is admitted. */
const filledKeys: (keyof Brief)[] = ['checks', 'files', 'maxCheckRounds', 'result'];

/** The run that was created with the key of this brief; null if there is none. Rejects with `key_conflict` if it was created from another brief. */
export async function findKeyedRun(brief: Brief, parentId: string | null, store: Store): Promise<RunRow | null> {
  const { idempotencyKey } = brief;
  const row = idempotencyKey === undefined ? null : await store.runByKey(parentId, idempotencyKey);
  if (!row) return null;
  const [created] = await store.facts({ runId: row.runId, types: ['run.created'] });
  if (created?.type === 'run.created') assertSameBrief(brief, created.data.brief, row.runId);
  return row;
}

/** Throws `key_conflict`. `runId`: null if that run is being started. */
export function assertSameBrief(given: Brief, known: Brief, runId: string | null): void {
  const key = findDifference(given, known);
  if (key === null) return;
  throw new RetinueError(
    'key_conflict',
    `idempotencyKey: ${runId === null ? 'another run is being started' : `run ${runId} was created`} with this key from another brief: \`${key}\` differs; choose another key`,
  );
}

function findDifference(given: Brief, known: Brief): string | null {
  for (const key of new Set([...Object.keys(given), ...Object.keys(known)]) as Set<keyof Brief>) {
    const isSame = filledKeys.includes(key) ? contains(known[key], given[key]) : canonical([known[key]]) === canonical([given[key]]);
    if (!isSame) return key;
  }
  return null;
}

/** Whether `whole` has everything of `part`. */
function contains(whole: unknown, part: unknown): boolean {
  if (part === undefined) return true;
  if (Array.isArray(part)) {
    const known = new Set(Array.isArray(whole) ? whole.map((each) => canonical(each)) : []);
    return part.every((each) => known.has(canonical(each)));
  }
  if (typeof part !== 'object' || part === null) return whole === part;
  return Object.entries(part).every(
    ([key, value]) => canonical([(whole as Record<string, unknown> | undefined)?.[key]]) === canonical([value]),
  );
}
