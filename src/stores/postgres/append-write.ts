// Writes the accepted units of an append: a fixed number of statements, however many facts there are. They are sent together with the commit.
import type { StoredBlob } from '../../ports/store.ts';
import { endsTree } from '../tree-end.ts';
import { type AppendPlan, isLiveRow } from './append-plan.ts';
import { encodeText } from './encode.ts';
import type { Transaction } from './transaction.ts';

const insertTrees = (s: string) => `
  INSERT INTO ${s}.trees (n, root, owner, fence) SELECT n, root, owner, 1 FROM unnest($1::bigint[], $2::text[], $3::text[]) AS given (n, root, owner)`;

/** A run that is stored keeps its parent and key, and its row if there is no new one. */
const upsertRuns = (s: string) => `
  INSERT INTO ${s}.runs AS stored (n, id, tree, parent, live, key, seq, row, tag)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::boolean[], $6::text[], $7::bigint[], $8::text[], $9::text[])
  ON CONFLICT (n) DO UPDATE SET
    parent = CASE WHEN stored.row IS NULL THEN excluded.parent ELSE stored.parent END,
    key = CASE WHEN stored.row IS NULL THEN excluded.key ELSE stored.key END,
    live = CASE WHEN excluded.row IS NULL THEN stored.live ELSE excluded.live END,
    row = coalesce(excluded.row, stored.row),
    seq = excluded.seq,
    tag = coalesce(excluded.tag, stored.tag)`;

const insertFacts = (s: string) => `
  INSERT INTO ${s}.facts (run, seq, tree, at, v, type, data, hash)
    SELECT run, seq, tree, at, v, type, data, hash
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::integer[], $6::text[], $7::text[], $8::text[])
      WITH ORDINALITY AS given (run, seq, tree, at, v, type, data, hash, place)
    ORDER BY place`;

/** In the order of their hashes, so that two appends with the same blobs do not wait for each other. */
const insertBlobs = (s: string) => `
  INSERT INTO ${s}.blobs (hash, content, is_text)
    SELECT hash, content, is_text FROM unnest($1::text[], $2::bytea[], $3::boolean[]) AS given (hash, content, is_text) ORDER BY hash
  ON CONFLICT DO NOTHING`;
const insertPins = (s: string) => `
  INSERT INTO ${s}.pins (hash, tree) SELECT hash, tree FROM unnest($1::text[], $2::bigint[]) AS given (hash, tree) ON CONFLICT DO NOTHING`;

const deleteOrders = (s: string) => `
  DELETE FROM ${s}.orders USING unnest($1::text[], $2::text[]) AS given (id, root) WHERE orders.id = given.id AND orders.root = given.root`;
const deleteOrdersOfTrees = (s: string) => `DELETE FROM ${s}.orders WHERE root = ANY($1)`;
const insertConsumed = (s: string) => `
  INSERT INTO ${s}.consumed (tree, run, id)
    SELECT tree, run, id FROM unnest($1::bigint[], $2::text[], $3::text[]) AS given (tree, run, id) ON CONFLICT DO NOTHING`;

const factsPerStatement = 250;

export interface NewBlob extends StoredBlob {
  tree: number;
}

/** Sends the statements. `blobs`: those that are not certainly stored for their tree. */
export function sendWrites(
  transaction: Transaction,
  s: string,
  plan: AppendPlan,
  { ownerId, blobs }: { ownerId: string; blobs: NewBlob[] },
): void {
  const send = (name: string, text: string, rows: number, values: unknown[]) => {
    if (rows > 0) transaction.send({ name, text, values });
  };
  const { newTrees, runs, facts, accepted, consumed } = plan;
  send('write-trees', insertTrees(s), newTrees.length, [
    newTrees.map(({ n }) => n),
    newTrees.map(({ root }) => root),
    newTrees.map(({ job }) => (job === null ? ownerId : null)),
  ]);
  send('write-runs', upsertRuns(s), runs.length, [
    runs.map(({ n }) => n),
    runs.map(({ id }) => id),
    runs.map(({ tree }) => tree),
    runs.map(({ row }) => row?.parentId ?? null),
    runs.map(({ row }) => isLiveRow(row)),
    runs.map(({ row }) => (row?.idempotencyKey == null ? null : encodeText(row.idempotencyKey))),
    runs.map(({ seq }) => seq),
    runs.map(({ row }) => (row === null ? null : JSON.stringify(row))),
    runs.map(({ tag }) => tag),
  ]);
  // The server writes the first facts while the next ones are being encoded.
  for (let start = 0; start < facts.length; start += factsPerStatement) {
    const part = facts.slice(start, start + factsPerStatement);
    send('write-facts', insertFacts(s), part.length, [
      part.map(({ run }) => run),
      part.map(({ fact }) => fact.seq),
      part.map(({ tree }) => tree),
      part.map(({ fact }) => fact.at),
      part.map(({ fact }) => fact.v),
      part.map(({ fact }) => fact.type),
      part.map(({ fact }) => fact.text),
      part.map(({ fact }) => fact.hash),
    ]);
  }
  const unique = [...new Map(blobs.map((blob) => [blob.hash, blob])).values()];
  send('write-blobs', insertBlobs(s), unique.length, [
    unique.map(({ hash }) => hash),
    unique.map(({ content }) => Buffer.from(content as string)),
    unique.map(({ content }) => typeof content === 'string'),
  ]);
  send('write-pins', insertPins(s), blobs.length, [blobs.map(({ hash }) => hash), blobs.map(({ tree }) => tree)]);
  const orders = accepted.flatMap(({ unit }) => unit.consumed.map((id) => ({ id: encodeText(id), root: unit.rootId })));
  send('delete-orders', deleteOrders(s), orders.length, [orders.map(({ id }) => id), orders.map(({ root }) => root)]);
  const ended = accepted.filter(({ unit }) => endsTree(unit)).map(({ unit }) => unit.rootId);
  send('delete-orders-of-trees', deleteOrdersOfTrees(s), ended.length, [ended]);
  send('write-consumed', insertConsumed(s), consumed.length, [
    consumed.map(({ tree }) => tree),
    consumed.map(({ runId }) => runId),
    consumed.map(({ id }) => encodeText(id)),
  ]);
}
