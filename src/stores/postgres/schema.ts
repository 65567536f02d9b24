// Which tables and columns Retinue has in the database. A trigger, a rule or a policy that somebody added could change what is written or read.
import type { Connections } from './connections.ts';

/** By table. Types as `format_type` names them. */
const expected: Record<string, string> = {
  trees: 'n bigint, root text, owner text, fence bigint',
  runs: 'n bigint, id text, tree bigint, parent text, live boolean, key text, seq bigint, row text, tag text',
  facts: 'xid xid8, n bigint, run bigint, seq bigint, tree bigint, at text, v integer, type text, data text, hash text',
  blobs: 'hash text, content bytea, is_text boolean',
  pins: 'hash text, tree bigint',
  orders: 'n bigint, id text, root text, text text, tag text',
  consumed: 'n bigint, tree bigint, run text, id text',
  owners: 'id text, name text, pid integer, started text, boot text, space text, beat timestamp with time zone, queues text[], host text',
  jobs: 'root text, queue text, priority integer, group text, id uuid, sent timestamp with time zone, done timestamp with time zone, problem text',
  settings: 'name text, value text',
  memories: 'n bigint, place text, name text, workspace text, title text, text text, at text',
  scratch: 'n bigint, id text, root text, run text, text text, at text',
  migrations: 'version integer, at timestamp with time zone',
};

interface FoundTable {
  name: string;
  columns: string;
  triggers: string[];
  rules: string[];
  secured: boolean;
}

export async function findSchemaFaults({ query, schema: s }: Connections): Promise<string[]> {
  const found = await query<FoundTable>({
    text: `SELECT c.relname::text AS name, c.relrowsecurity AS secured,
        (SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' ORDER BY a.attnum)
          FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns,
        ARRAY(SELECT tgname::text FROM pg_trigger WHERE tgrelid = c.oid AND NOT tgisinternal) AS triggers,
        ARRAY(SELECT rulename::text FROM pg_rewrite WHERE ev_class = c.oid) AS rules
      FROM pg_class c WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p', 'v', 'f') ORDER BY c.relname`,
    values: [s],
  });
  const tables = new Map(found.map((table) => [table.name, table]));
  return Object.entries(expected).flatMap(([name, columns]) => {
    const table = tables.get(name);
    if (table === undefined) return [`the table \`${name}\` is missing`];
    return [
      ...(table.columns === columns ? [] : [`the table \`${name}\` does not have the columns that Retinue creates`]),
      ...table.triggers.map((trigger) => `the trigger \`${trigger}\` is not one that Retinue creates`),
      ...table.rules.map((rule) => `the rule \`${rule}\` is not one that Retinue creates`),
      ...(table.secured ? [`the table \`${name}\` has row security, which hides rows`] : []),
    ];
  });
}
