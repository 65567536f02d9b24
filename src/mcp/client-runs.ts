// The client runs of one connection, one after another. A client run that was cancelled, or that this process can no longer write because the disk
// was full or another process took over, is replaced at the next call. Its runs stay visible to the connection.
import type { Api } from '../api/api.ts';
import type { RetinueError } from '../contract/error.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { RuntimeClient } from '../kernel/runtime.ts';
import { formatLoss, readLostRuns } from './lost-runs.ts';

export interface ClientRunsOptions {
  limits: LimitsGiven;
  /** The client's name and version, for users. */
  label(): string;
  /** The client's name; null if it has none. Later connections of the same name may see its runs. */
  name(): string | null;
  /** The name belongs to a token: all connections with it see each other's runs. */
  isProven?: boolean;
  /** Lets the client see the runs of all clients. */
  share: boolean;
  log(line: string): void;
}

export interface ClientRuns {
  /** The client run to delegate from. It is created at the first call. */
  get(api: Api): Promise<RuntimeClient>;
  /** The last one, if there is one. Never rejects. */
  current(): Promise<RuntimeClient | null>;
  /** Drops a client run that has ended, so that the next call gets a new one. Returns whether it was lost: its runs stopped without a further fact. */
  dropIfEnded(client: RuntimeClient): Promise<boolean>;
  /** What became of lost client runs, once for each. If that cannot be read now, the next call of this function tells it. */
  explainLosses(api: Api): Promise<string[]>;
  /** Outcomes of the runs of client runs that were dropped. */
  readonly earlierOutcomes: readonly Outcome[];
}

export function createClientRuns({ limits, label, name, isProven = false, share, log }: ClientRunsOptions): ClientRuns {
  let client: Promise<RuntimeClient> | null = null;
  const ids: string[] = [];
  const drops = new Map<string, Promise<boolean>>();
  const losses: { clientId: string; error: RetinueError }[] = [];
  const earlierOutcomes: Outcome[] = [];

  async function current(): Promise<RuntimeClient | null> {
    return (await client?.catch(() => null)) ?? null;
  }

  async function get(api: Api): Promise<RuntimeClient> {
    const last = await current();
    if (last) await dropIfEnded(last);
    client ??= create(api).catch((error: unknown) => {
      client = null;
      throw error;
    });
    return client;
  }

  async function create(api: Api): Promise<RuntimeClient> {
    const created = await api.client({ label: label(), limits, name: name(), isProven, formerIds: [...ids], seesAllClients: share });
    ids.push(created.id);
    return created;
  }

  async function dropIfEnded(last: RuntimeClient): Promise<boolean> {
    const end = await last.findEnd();
    if (end === null) return false;
    const dropped = drops.get(last.id) ?? drop(last, end.lost);
    drops.set(last.id, dropped);
    return dropped;
  }

  async function drop(last: RuntimeClient, lost: RetinueError | null): Promise<boolean> {
    // Resolves when nothing of it runs here any more: then its lease can be given up.
    await last.close({ gone: true }).catch(() => {});
    client = null;
    if (lost) losses.push({ clientId: last.id, error: lost });
    // Those of a lost client run are read again, because the last ones may not have been recorded.
    else earlierOutcomes.push(...last.delegation.children().flatMap(({ outcome }) => outcome ?? []));
    return lost !== null;
  }

  async function explainLosses(api: Api): Promise<string[]> {
    const texts: string[] = [];
    for (const loss of losses.splice(0)) {
      try {
        const { runs, outcomes } = await readLostRuns(loss.clientId, api, (await get(api)).delegation);
        earlierOutcomes.push(...outcomes);
        texts.push(formatLoss(loss.error, runs));
      } catch (error) {
        losses.push(loss);
        log(`cannot read the runs of client ${loss.clientId}: ${(error as Error)?.message ?? error}`);
      }
    }
    return texts;
  }

  return { get, current, dropIfEnded, explainLosses, earlierOutcomes };
}
