import { RetinueError } from '../contract/error.ts';
import type { RunRow } from '../contract/run.ts';
import type { Store } from '../ports/store.ts';

/** Finds a run by its id, a unique prefix of it, or `last` (the newest root). Rejects with `unknown_run` or `ambiguous_id`. */
export async function findRun(text: string, store: Store): Promise<RunRow> {
  if (text === 'last') {
    const [row] = await store.runs({ roots: true, order: 'newest', limit: 1 });
    if (!row) throw new RetinueError('unknown_run', 'there are no runs yet');
    return row;
  }
  const prefix = text.toLowerCase();
  if (!/^[0-9a-f]{1,16}$/.test(prefix)) throw new RetinueError('unknown_run', `\`${text}\` is not a run id: use hex digits, or \`last\``);
  const rows = await store.runs({ prefix, limit: 5 });
  if (rows.length === 1) return rows[0] as RunRow;
  if (rows.length === 0)
    throw new RetinueError('unknown_run', `there is no run that begins with ${prefix}; \`retinue ps --all\` lists all runs`);
  throw new RetinueError('ambiguous_id', `more than one run begins with ${prefix}: ${rows.map((row) => row.runId).join(', ')}`);
}
