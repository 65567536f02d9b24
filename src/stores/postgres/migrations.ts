// The tables of the database and the steps that create them.
import { RetinueError } from '../../contract/error.ts';
import type { Crash } from '../../ports/crash.ts';
import type { Connections } from './connections.ts';
import { lockKey } from './locks.ts';
import { rebasePositions } from './positions.ts';
import type { Transaction } from './transaction.ts';
import { describeAddress } from './url.ts';

/** Step n takes a database from version n - 1 to n. `s`: the quoted name of the schema. Released steps are never changed; new ones are added. */
export type Migration = (transaction: Transaction, s: string) => Promise<void>;

/*
 * Facts refer to their run and tree by number, as in SQLite. Ids and texts that are compared have the collation "C", so that they compare byte for byte and an
 * index finds prefixes. `facts.xid` is a part of a position (positions.ts). Rows that change often leave room on their page, so that an update
 * does not touch the indexes.
 */
const baseTables = (s: string) => `
  CREATE SEQUENCE ${s}.trees_n;
  CREATE TABLE ${s}.trees (
    n bigint PRIMARY KEY,
    root text COLLATE "C" NOT NULL UNIQUE,
    owner text COLLATE "C",
    fence bigint NOT NULL
  );
  CREATE INDEX trees_owner ON ${s}.trees (owner);
  CREATE SEQUENCE ${s}.runs_n;
  CREATE TABLE ${s}.runs (
    n bigint PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    tree bigint NOT NULL,
    parent text COLLATE "C",
    live boolean NOT NULL,
    key text COLLATE "C",
    seq bigint NOT NULL,
    row text,
    tag text
  ) WITH (fillfactor = 70);
  CREATE INDEX runs_tree ON ${s}.runs (tree);
  CREATE INDEX runs_parent ON ${s}.runs (parent);
  CREATE INDEX runs_live ON ${s}.runs (n) WHERE live;
  CREATE UNIQUE INDEX runs_key ON ${s}.runs (coalesce(parent, ''), key) WHERE key IS NOT NULL;
  CREATE SEQUENCE ${s}.facts_n;
  CREATE TABLE ${s}.facts (
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    n bigint NOT NULL DEFAULT nextval('${s}.facts_n'),
    run bigint NOT NULL,
    seq bigint NOT NULL,
    tree bigint NOT NULL,
    at text COLLATE "C" NOT NULL,
    v integer NOT NULL,
    type text COLLATE "C" NOT NULL,
    data text COLLATE "C" NOT NULL,
    hash text COLLATE "C" NOT NULL,
    PRIMARY KEY (xid, n)
  );
  CREATE UNIQUE INDEX facts_run ON ${s}.facts (run, seq);
  CREATE INDEX facts_tree ON ${s}.facts (tree, xid, n);
  CREATE TABLE ${s}.blobs (
    hash text COLLATE "C" PRIMARY KEY,
    content bytea NOT NULL,
    is_text boolean NOT NULL
  );
  CREATE TABLE ${s}.pins (
    hash text COLLATE "C" NOT NULL,
    tree bigint NOT NULL,
    PRIMARY KEY (hash, tree)
  );
  CREATE INDEX pins_tree ON ${s}.pins (tree);
  CREATE TABLE ${s}.orders (
    n bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id text COLLATE "C" NOT NULL UNIQUE,
    root text COLLATE "C" NOT NULL,
    text text NOT NULL,
    tag text NOT NULL
  );
  CREATE TABLE ${s}.consumed (
    n bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    tree bigint NOT NULL,
    run text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    UNIQUE (tree, id)
  );
  CREATE TABLE ${s}.owners (
    id text COLLATE "C" PRIMARY KEY,
    name text NOT NULL,
    pid integer NOT NULL,
    started text,
    boot text,
    space text,
    beat timestamptz NOT NULL
  ) WITH (fillfactor = 50);
  CREATE TABLE ${s}.settings (
    name text COLLATE "C" PRIMARY KEY,
    value text NOT NULL
  );
  CREATE TABLE ${s}.memories (
    n bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    place text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL UNIQUE,
    workspace text NOT NULL,
    title text NOT NULL,
    text text NOT NULL,
    at text NOT NULL
  );
  CREATE INDEX memories_place ON ${s}.memories (place, n);
  CREATE TABLE ${s}.scratch (
    n bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id text COLLATE "C" NOT NULL UNIQUE,
    root text COLLATE "C" NOT NULL,
    run text NOT NULL,
    text text NOT NULL,
    at text NOT NULL
  );
  CREATE INDEX scratch_root ON ${s}.scratch (root, n);
`;

/** `jobs`: trees that want or wanted a worker. `id`: the job in pg-boss; null if there is none now. `done`: when the last one was completed. */
const queueTables = (s: string) => `
  ALTER TABLE ${s}.owners ADD COLUMN queues text[] NOT NULL DEFAULT '{}', ADD COLUMN host text NOT NULL DEFAULT '';
  CREATE TABLE ${s}.jobs (
    root text COLLATE "C" PRIMARY KEY,
    queue text COLLATE "C" NOT NULL,
    priority integer NOT NULL,
    "group" text,
    id uuid,
    sent timestamptz NOT NULL,
    done timestamptz,
    problem text
  ) WITH (fillfactor = 70);
  CREATE INDEX jobs_open ON ${s}.jobs (queue, sent) WHERE id IS NOT NULL;
  CREATE INDEX jobs_done ON ${s}.jobs (done) WHERE done IS NOT NULL;
`;

/** Shared budgets, what runs have drawn from them, and the sums of each period. `text`: the definition as JSON. */
const budgetTables = (s: string) => `
  CREATE TABLE ${s}.budgets (
    name text COLLATE "C" PRIMARY KEY,
    text text NOT NULL
  );
  CREATE TABLE ${s}.budget_draws (
    run text COLLATE "C" NOT NULL,
    budget text COLLATE "C" NOT NULL,
    period text COLLATE "C" NOT NULL,
    root text COLLATE "C" NOT NULL,
    stamp text COLLATE "C" NOT NULL,
    spent_tokens bigint NOT NULL,
    spent_nanos bigint NOT NULL,
    reserved_tokens bigint NOT NULL,
    reserved_nanos bigint NOT NULL,
    PRIMARY KEY (run, budget, period)
  ) WITH (fillfactor = 50);
  CREATE INDEX budget_draws_open ON ${s}.budget_draws (root) WHERE reserved_tokens > 0 OR reserved_nanos > 0;
  CREATE TABLE ${s}.budget_sums (
    budget text COLLATE "C" NOT NULL,
    period text COLLATE "C" NOT NULL,
    spent_tokens bigint NOT NULL,
    spent_nanos bigint NOT NULL,
    reserved_tokens bigint NOT NULL,
    reserved_nanos bigint NOT NULL,
    PRIMARY KEY (budget, period)
  ) WITH (fillfactor = 50);
`;

/** The shared limits of providers, by a keyed hash of their keys. `text`: the state as JSON. */
const limitTable = (s: string) => `
  CREATE TABLE ${s}.provider_limits (
    key text COLLATE "C" PRIMARY KEY,
    text text NOT NULL
  ) WITH (fillfactor = 50);
`;

export const migrations: readonly Migration[] = [
  async (transaction, s) => transaction.send({ text: baseTables(s) }),
  async (transaction, s) => transaction.send({ text: queueTables(s) }),
  async (transaction, s) => transaction.send({ text: budgetTables(s) + limitTable(s) }),
];

/** The first version with the functions for transaction ids of 64 bits. */
export const minServerVersion = 130_000;

interface Found {
  server: number;
  encoding: string;
  isStandby: boolean;
  /** Null if there are no tables of Retinue. */
  version: number | null;
}

/**
 * Migrates the database, each step in one transaction with its number, so that a kill leaves only complete steps. Other processes may migrate at the same
 * time: the number is read again under a lock. Resolves to false if there are no tables and none shall be created.
 */
export async function migrate(
  connections: Connections,
  { create, steps = migrations, crash }: { create: boolean; steps?: readonly Migration[]; crash?: Crash | undefined },
): Promise<boolean> {
  const found = await inspect(connections);
  assertUsable(found, connections, steps.length);
  if (found.version === null && !create) return false;
  for (let version = found.version ?? 0; version < steps.length; ) version = await takeStep(connections, steps, crash);
  await rebasePositions(connections);
  return true;
}

function takeStep(connections: Connections, steps: readonly Migration[], crash: Crash | undefined): Promise<number> {
  const { schema: s } = connections;
  return connections.transact(async (transaction) => {
    transaction.send({ text: 'SELECT pg_advisory_xact_lock($1)', values: [lockKey('migrations', s)] });
    const version = await readVersion(transaction, connections);
    if (version !== null && version > steps.length) throw createNewerError(connections, version, steps.length);
    const step = steps[version ?? 0];
    if (step === undefined) return steps.length;
    crash?.('before migration.step');
    if (version === null) transaction.send({ text: createVersions(s) });
    await step(transaction, s);
    transaction.send({ text: `INSERT INTO ${s}.migrations (version) VALUES ($1)`, values: [(version ?? 0) + 1] });
    crash?.('after migration.step');
    return (version ?? 0) + 1;
  });
}

/** The schema may exist already: an administrator may have created it for a user without the right to. */
const createVersions = (s: string) => `
  DO $do$ BEGIN
    IF to_regnamespace('${s.replaceAll("'", "''")}') IS NULL THEN CREATE SCHEMA ${s}; END IF;
  END $do$;
  CREATE TABLE ${s}.migrations (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp());
`;

/** Whether the table of versions exists. A query, because `to_regclass` may answer from before the transaction waited for its lock. */
const findTable = `SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE relname = 'migrations' AND nspname = $1`;

/** Null if there are no tables of Retinue. */
async function readVersion(transaction: Transaction, { schema: s, schemaName }: Connections): Promise<number | null> {
  if ((await transaction.query({ text: findTable, values: [schemaName] })).length === 0) return null;
  const [newest] = await transaction.query<{ version: number | null }>({ text: `SELECT max(version) AS version FROM ${s}.migrations` });
  return newest?.version ?? 0;
}

/** Outside a transaction, so that a standby can answer. */
async function inspect({ query, schema: s, schemaName }: Connections): Promise<Found> {
  const [server] = await query<{ server: number; encoding: string; isStandby: boolean }>({
    text: `SELECT current_setting('server_version_num')::int AS server, current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS "isStandby"`,
  });
  const hasTable = (await query({ text: findTable, values: [schemaName] })).length > 0;
  const newest = hasTable ? await query<{ version: number | null }>({ text: `SELECT max(version) AS version FROM ${s}.migrations` }) : null;
  return { ...(server as NonNullable<typeof server>), version: newest === null ? null : (newest[0]?.version ?? 0) };
}

function assertUsable({ server, encoding, isStandby, version }: Found, connections: Connections, known: number): void {
  const name = describeAddress(connections.address);
  if (server < minServerVersion)
    throw new RetinueError('usage', `the server of ${name} is PostgreSQL ${describeVersion(server)}; Retinue needs PostgreSQL 13 or later`);
  if (encoding !== 'UTF8')
    throw new RetinueError('usage', `the database ${name} has the encoding ${encoding}; create one with \`createdb --encoding=UTF8\``);
  if (isStandby) throw new RetinueError('usage', `the server of ${name} is a standby, which can only be read; name the primary server`);
  if (version !== null && version > known) throw createNewerError(connections, version, known);
}

export function describeVersion(server: number): string {
  return server >= 100_000
    ? `${Math.floor(server / 10_000)}.${server % 10_000}`
    : `${Math.floor(server / 10_000)}.${Math.floor(server / 100) % 100}`;
}

function createNewerError({ address }: Connections, found: number, known: number): RetinueError {
  return new RetinueError(
    'store_newer',
    `The tables in the database ${describeAddress(address)} have version ${found}, but this version of Retinue supports only versions up to ${known}. Update Retinue, or choose another database.`,
  );
}
