// One PostgreSQL server for all tests of a run. It is started when the first test asks for it, and stopped at the end.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { type PostgresServer, startPostgresServer } from './server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** A socket that answers with the address of the server. */
    postgresSocket: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-pg-'));
  const socket = join(folder, 'ask');
  let starting: Promise<PostgresServer> | null = null;
  const listener = createServer((connection) => {
    connection.on('error', () => {});
    starting ??= startPostgresServer();
    starting.then(
      (server) => connection.end(JSON.stringify({ url: server.url() })),
      (error: unknown) => connection.end(JSON.stringify({ error: String(error) })),
    );
  });
  await new Promise<void>((resolve) => listener.listen(socket, resolve));
  listener.unref();
  project.provide('postgresSocket', socket);
  return async () => {
    listener.close();
    rmSync(folder, { recursive: true, force: true });
    await (await starting?.catch(() => null))?.remove();
  };
}
