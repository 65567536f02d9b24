// Which append ends a tree.
import { isLive } from '../contract/run-status.ts';
import type { TreeAppend } from '../ports/store.ts';

export function endsTree({ rootId, rows }: TreeAppend): boolean {
  return rows.some(({ runId, status }) => runId === rootId && !isLive(status));
}
