// Pages of the session list. Without a folder, the databases of all workspaces of the user are read one after the other.
import type { Api } from '../api/api.ts';
import { RpcError, rpcCodes } from '../system/rpc-error.ts';
import { listSessions } from './history.ts';
import type { SessionInfo } from './protocol.ts';

const pageSize = 50;

/** A database that has sessions. Its id is a part of cursors. */
export interface SessionSource {
  id: string;
  /** Null if it cannot be read. */
  read<T>(work: (api: Api) => Promise<T>): Promise<T | null>;
}

/** A page is full unless it is the last one of its source, so one page comes from one source or from the ends of several. */
export async function listPage(
  sources: SessionSource[],
  { workspace, cursor }: { workspace: string | null; cursor: string | null },
): Promise<{ sessions: SessionInfo[]; nextCursor?: string }> {
  const [, id, before] = /^(.*):(.*)$/s.exec(cursor ?? '') ?? [];
  const start = cursor === null ? 0 : sources.findIndex((source) => source.id === id);
  if (start === -1) throw new RpcError(rpcCodes.invalidParams, 'the cursor is unknown; list the sessions again without one');
  const sessions: SessionInfo[] = [];
  for (const [i, source] of sources.slice(start).entries()) {
    const from = i === 0 && before ? { before } : {};
    const page = await source.read((api) => listSessions(api, { workspace, limit: pageSize, ...from }));
    sessions.push(...(page?.sessions ?? []));
    if (page?.next) return { sessions, nextCursor: `${source.id}:${page.next}` };
    const next = sources[start + i + 1];
    if (sessions.length >= pageSize && next) return { sessions, nextCursor: `${next.id}:` };
  }
  return { sessions };
}
