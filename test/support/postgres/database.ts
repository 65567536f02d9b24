// Databases and schemas of their own for tests, on the server that all tests share.
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { inject } from 'vitest';
import { runSql } from './sql.ts';

let asked: Promise<string> | null = null;

/** The address of the server's first database, as the superuser. */
export function getServerUrl(): Promise<string> {
  asked ??= askForServer();
  return asked;
}

async function askForServer(): Promise<string> {
  const { url, error } = JSON.parse(await text(connect(inject('postgresSocket')))) as { url: string; error?: string };
  if (error !== undefined) throw new Error(error);
  return url;
}

export interface TestSchema {
  url: string;
  schema: string;
  /** Runs SQL as the superuser. The name of the schema is `$s`. */
  sql<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  remove(): Promise<void>;
}

/** A schema that does not exist yet, on the server that tests share. Cheaper than a database. */
export async function createTestSchema(): Promise<TestSchema> {
  return createSchema(await getServerUrl());
}

export function createSchema(url: string): TestSchema {
  const schema = `test_${randomBytes(6).toString('hex')}`;
  const sql = (statement: string, values: unknown[] = []) => runSql(url, statement.replaceAll('$s', schema), values);
  return {
    url,
    schema,
    sql: sql as TestSchema['sql'],
    async remove() {
      for (const each of ['$s', '$s_queue']) await sql(`DROP SCHEMA IF EXISTS ${each} CASCADE`);
    },
  };
}

export interface TestDatabase {
  url: string;
  name: string;
  sql<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  remove(): Promise<void>;
}

/** For commands, which use the schema `retinue`. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const server = await getServerUrl();
  const name = `test_${randomBytes(6).toString('hex')}`;
  await runSql(server, `CREATE DATABASE ${name} TEMPLATE template0`);
  const url = server.replace(/\/[^/]*$/, `/${name}`);
  return {
    url,
    name,
    sql: ((statement: string, values: unknown[] = []) => runSql(url, statement, values)) as TestDatabase['sql'],
    remove: async () => void (await runSql(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)),
  };
}

export { runSql };
