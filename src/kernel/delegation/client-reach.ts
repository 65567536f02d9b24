// Which runs of other clients a client may see. Run ids are not secrets: knowing one gives no access.
//
//  1. A client sees the runs that it delegated.
//  2. A named client also sees those of earlier clients with the same name, once their connection is gone.
//  3. A client whose name is proven, by the token of a request, also sees those of its other connections that are open.
//  4. The user may let a client see the runs of all clients.
import type { RunRow } from '../../contract/run.ts';
import type { Store } from '../../ports/store.ts';

export interface ClientReach {
  /** The client's name for itself, which separates clients but proves nothing. Null: it has none, and shares nothing with others. */
  name: string | null;
  /** The name belongs to a token, so no other client can use it. */
  isProven?: boolean;
  /** Client runs that this connection had before. */
  formerIds: readonly string[];
  /** The user lets it see the runs of all clients. */
  seesAllClients: boolean;
}

/** A client without a name, as library scopes are. */
export const ownRunsReach: ClientReach = { name: null, formerIds: [], seesAllClients: false };

/** The tag under which the brief of a client run records the name of its client. */
export function createClientTag(name: string): string {
  return `client:${name}`;
}

const clientRunPrefix = 'client-run:';

/** The tags of a brief that a client delegates to a queue. Its tree is no child of the client run, so they name that run. */
export function tagQueuedBrief(tags: readonly string[], clientId: string): string[] {
  return [...tags.filter((tag) => !tag.startsWith(clientRunPrefix)), `${clientRunPrefix}${clientId}`];
}

/** The client run that delegated a queued tree with these tags. */
export function findClientId(tags: readonly string[] = []): string | null {
  return tags.find((tag) => tag.startsWith(clientRunPrefix))?.slice(clientRunPrefix.length) ?? null;
}

/** Whether a client may see what another client run delegated. */
export async function canSeeClient(client: RunRow, reach: ClientReach, store: Store): Promise<boolean> {
  if (reach.seesAllClients || reach.formerIds.includes(client.runId)) return true;
  if (reach.name === null) return false;
  const [created] = await store.facts({ runId: client.runId, types: ['run.created'] });
  const tags = created?.type === 'run.created' ? created.data.brief.tags : undefined;
  return tags?.includes(createClientTag(reach.name)) === true && (reach.isProven === true || (await isGone(client, store)));
}

/** Whether the connection of a client run has ended. */
async function isGone({ runId, endedAt }: RunRow, store: Store): Promise<boolean> {
  if (endedAt !== null || !(await store.holders([runId])).get(runId)?.alive) return true;
  // A client run pauses only when its connection ends, and resuming its tree does not restore the connection.
  return (await store.facts({ runId, types: ['run.paused', 'run.resumed'], limit: 1 })).length > 0;
}
