// Whether all processes of a database have the same key for orders. With another key a process would take the runs of others for changed ones, and its orders
// would be dropped, so it is refused before it does anything.
import { RetinueError } from '../../contract/error.ts';
import type { OrderAuthenticator, RunHead } from '../../ports/store.ts';
import type { Connections } from './connections.ts';
import { describeAddress } from './url.ts';

/** What the tag in the database is signed over. */
const head: RunHead = { runId: 'key of this database', seq: 0, hash: '', orders: '' };

/** Rejects with `usage` if the database belongs to another key; with `adopt`, it belongs to this one from then on. */
export function createKeyCheck(
  connections: Connections,
  { authenticator, adopt }: { authenticator: OrderAuthenticator | undefined; adopt: boolean },
): () => Promise<void> {
  const { schema: s } = connections;
  let isChecked = false;
  return async () => {
    const tag = isChecked ? null : (authenticator?.signRun(head) ?? null);
    // Without a usable key nothing is signed, and orders are refused with the reason.
    if (authenticator === undefined || tag === null) return;
    const [stored] = await connections.query<{ value: string }>({
      text: `INSERT INTO ${s}.settings AS stored (name, value) VALUES ('key', $1)
        ON CONFLICT (name) DO UPDATE SET value = ${adopt ? 'excluded.value' : 'stored.value'} RETURNING value`,
      values: [tag],
    });
    if (!authenticator.isRunAuthentic(head, String(stored?.value)))
      throw new RetinueError(
        'usage',
        `your key for orders is not the one that the database ${describeAddress(connections.address)} was created with. All processes that share a ` +
          'database need the same key: copy the file `order-key` of its first user and name it in RETINUE_ORDER_KEY. If the key was replaced, set the option `adopt` once',
        { option: 'adopt' },
      );
    isChecked = true;
  };
}
