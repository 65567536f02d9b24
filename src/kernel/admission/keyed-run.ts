// Finds the run of an idempotency key. A key belongs to one brief: with another brief it is refused, because the caller would get the result of a task
// that it did not give.
import type { Brief } from '../../contract/brief.ts';
import { RetinueError } from '../../contract/error.ts';
import type { FactData } from '../../contract/fact.ts';
import type { RunRow } from '../../contract/run.ts';
import { canonical } from '../../text/canonical.ts';
import { agentDefinition } from '../recovery/pinned-agent.ts';
import type { Services } from '../services.ts';
import { fillAgent } from './agent-parameters.ts';

/** The definition of an agent adds to these when its run is admitted. */
const filledKeys: (keyof Brief)[] = ['checks', 'files', 'maxCheckRounds', 'result'];

/** The run that was created with the key of this brief; null if there is none. Rejects with `key_conflict` if it was created from another brief. */
export async function findKeyedRun(
  brief: Brief,
  parentId: string | null,
  { store, dialect }: Pick<Services, 'store' | 'dialect'>,
): Promise<RunRow | null> {
  const { idempotencyKey } = brief;
  const row = idempotencyKey === undefined ? null : await store.runByKey(parentId, idempotencyKey);
  if (!row) return null;
  const [created] = await store.facts({ runId: row.runId, types: ['run.created'] });
  if (created?.type !== 'run.created') return row;
  const filled = await fillAsRecorded(brief, created.data, dialect);
  const key = filled ? findDifference(filled, created.data.brief) : findChange(brief, created.data.brief);
  if (key !== null) throw keyConflictError(key, `run ${row.runId} was created`);
  return row;
}

/** For a brief that is being started. Throws `key_conflict` if the other one is not the same. */
export function assertSameBrief(given: Brief, other: Brief): void {
  const key = findDifference(given, other);
  if (key !== null) throw keyConflictError(key, 'another run is being started');
}

/** The brief as admission would record it. Null if its agent is no longer defined as it was when the run was created. */
async function fillAsRecorded(
  brief: Brief,
  { agent: name, definition, dialect }: FactData['run.created'],
  loadDialect: Services['dialect'],
): Promise<Brief | null> {
  try {
    const today = name === null ? null : (await loadDialect(dialect)).catalog.get(name);
    const filled = today && fillAgent(today, brief);
    return filled && agentDefinition(filled.agent).hash === definition ? filled.brief : null;
  } catch {
    // The dialect is not available here, or the agent now wants other parameters.
    return null;
  }
}

function findDifference(given: Brief, known: Brief): keyof Brief | null {
  return listKeys(given, known).find((key) => !isSame(known[key], given[key])) ?? null;
}

/** The same if it is unknown what the agent's definition added to the known brief: then only what is given counts. */
function findChange(given: Brief, known: Brief): keyof Brief | null {
  const isKept = (key: keyof Brief) => (filledKeys.includes(key) ? contains(known[key], given[key]) : isSame(known[key], given[key]));
  return listKeys(given, known).find((key) => !isKept(key)) ?? null;
}

function listKeys(given: Brief, known: Brief): (keyof Brief)[] {
  return [...new Set([...Object.keys(given), ...Object.keys(known)])] as (keyof Brief)[];
}

function isSame(a: unknown, b: unknown): boolean {
  return canonical([a]) === canonical([b]);
}

/** Whether `whole` has everything of `part`. */
function contains(whole: unknown, part: unknown): boolean {
  if (part === undefined) return true;
  if (Array.isArray(part)) {
    const known = new Set(Array.isArray(whole) ? whole.map((each) => canonical(each)) : []);
    return part.every((each) => known.has(canonical(each)));
  }
  if (typeof part !== 'object' || part === null) return whole === part;
  return Object.entries(part).every(([key, value]) => isSame((whole as Record<string, unknown> | undefined)?.[key], value));
}

function keyConflictError(key: keyof Brief, what: string): RetinueError {
  return new RetinueError(
    'key_conflict',
    `idempotencyKey: ${what} with this key from another brief: \`${key}\` differs; choose another key`,
  );
}
