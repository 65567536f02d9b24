import { RetinueError } from '../contract/error.ts';
import type { RunRow } from '../contract/run.ts';
import type { Store } from '../ports/store.ts';

/** Roots that are searched for the newest run. */
const recentRoots = 50;

/** Finds a run by its id, a unique prefix of it, or `last` (see `findLast`). Rejects with `unknown_run` or `ambiguous_id`. */
export async function findRun(text: string, store: Store): Promise<RunRow> {
  if (text === 'last') {
    const row = await findLast(store);
    if (!row) throw new RetinueError('unknown_run', 'there are no runs yet');
    return row;
  }
  const prefix = text.toLowerCase();
  if (!/^[0-9a-f]{1,16}$/.test(prefix)) throw new RetinueError('unknown_run', `\`${text}\` is not a run id: use hex digits, or \`last\``);
  const rows = await store.runs({ prefix, limit: 5 });
  if (rows.length === 1) return rows[0] as RunRow;
  if (rows.length === 0)
    throw new RetinueError('unknown_run', `there is no run that begins with ${prefix}; \`ps\` with the option \`all\` lists all runs`, {
      option: 'all',
    });
  throw new RetinueError('ambiguous_id', `more than one run begins with ${prefix}: ${rows.map((row) => row.runId).join(', ')}`);
}

/** The newest root. A client only delegates, so the newest run that it delegated counts in its place. */
async function findLast(store: Store): Promise<RunRow | undefined> {
  const roots = await store.runs({ roots: true, order: 'newest', limit: recentRoots });
  const delegated = await Promise.all(
    roots.filter(({ kind }) => kind === 'client').map(({ runId }) => store.runs({ parentId: runId, order: 'newest', limit: 1 })),
  );
  const runs = [...roots.filter(({ kind }) => kind !== 'client'), ...delegated.flat()];
  return runs.reduce((newest, row) => (newest === undefined || row.createdAt > newest.createdAt ? row : newest), runs[0]) ?? roots[0];
}
