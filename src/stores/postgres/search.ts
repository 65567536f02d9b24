// Finds facts by the text of their data, newest first. Reads the table backwards in pages, so that each statement is short and a search can be aborted.
import type { StoredFact } from '../../contract/fact.ts';
import type { SearchOptions } from '../../ports/store.ts';
import { rowToFact, textToPattern } from '../stored-rows.ts';
import type { Connections } from './connections.ts';
import { lastPosition } from './positions.ts';
import { type FoundFact, toFactRow } from './queries.ts';
import { describeAddress } from './url.ts';

/** Facts that one statement reads through. */
const pageSize = 2_000;

/** With the collation "C", only ASCII letters have two cases. `end`: the oldest fact of the page. */
const selectPage = (s: string) => `
  WITH page AS MATERIALIZED (
    SELECT xid, n, run, seq, at, v, type, data, hash FROM ${s}.facts
    WHERE (xid, n) < ($1::xid8, $2::bigint)
    ORDER BY xid DESC, n DESC LIMIT ${pageSize}
  )
  SELECT last.xid AS "endXid", last.n AS "endN", found.*
  FROM (SELECT xid, n FROM page ORDER BY xid, n LIMIT 1) AS last
  LEFT JOIN (
    SELECT page.xid, page.n, page.seq, page.at, page.v, page.type, page.data, page.hash, runs.id AS "runId"
    FROM page JOIN ${s}.runs ON runs.n = page.run WHERE lower(page.data COLLATE "C") LIKE lower($3::text COLLATE "C")
  ) AS found ON true
  ORDER BY found.xid DESC, found.n DESC`;

type FoundRow = FoundFact & { endXid: string; endN: number };

export async function searchFacts(connections: Connections, text: string, { limit, signal }: SearchOptions): Promise<StoredFact[]> {
  const name = describeAddress(connections.address);
  const found: StoredFact[] = [];
  let { xid, n } = lastPosition;
  while (found.length < limit && !signal?.aborted) {
    const page: FoundRow[] = await connections.query({
      name: 'search',
      text: selectPage(connections.schema),
      values: [xid, n, textToPattern(text)],
    });
    const first = page[0];
    if (first === undefined) break;
    // Without a match there is one row with nothing but the end of the page.
    for (const { endXid, endN, ...row } of page)
      if (row.runId !== null && found.length < limit) found.push(rowToFact(toFactRow(row), name));
    [xid, n] = [first.endXid, String(first.endN)];
  }
  return found;
}
