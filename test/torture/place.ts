// One database in its own folder, and real processes of the real program that use it.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { listOpenQuestions } from '../../src/api/questions.ts';
import { recordLog } from '../../src/config/database-origin.ts';
import { createKeyAuthenticator, orderKeyPath } from '../../src/config/order-key.ts';
import type { StoredFact } from '../../src/contract/fact.ts';
import type { Store } from '../../src/ports/store.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { outputOf } from '../support/output.ts';

const bin = resolve(import.meta.dirname, 'retinue.ts');

export interface Exit {
  code: number | null;
  killed: boolean;
  out: string;
  err: string;
}

export interface TorturePlace {
  folder: string;
  /** Runs a command. `point`: the crash point to arm. `afterMs`: kills it after this time. `when`: kills it as soon as this is true. */
  run(args: string[], death?: { point?: string; afterMs?: number; when?: () => boolean }): Promise<Exit>;
  read<T>(look: (store: Store) => Promise<T>): Promise<T>;
  facts(): Promise<StoredFact[]>;
  /** The times at which each effect took place. */
  effects(): Map<string, number[]>;
  /** From now on writing a file needs approval. */
  askAboutWrites(): void;
  remove(): void;
}

export function createTorturePlace(url: string): TorturePlace {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-torture-'));
  mkdirSync(join(folder, 'effects'));
  mkdirSync(join(folder, 'notes'));
  const db = join(folder, '.retinue', 'retinue.db');
  const env = {
    ...{ PATH: process.env.PATH, HOME: folder, NO_COLOR: '1' },
    ...{ RETINUE_MODEL: 'openai-compatible/torture', RETINUE_BASE_URL: url, RETINUE_API_KEY: 'none' },
  };
  const authenticator = createKeyAuthenticator(orderKeyPath(env));

  async function read<T>(look: (store: Store) => Promise<T>): Promise<T> {
    // Do not create the database here: the program does, unless it was killed before.
    const store = existsSync(db)
      ? await openSqliteStore({ path: db, authenticator, logOpened: (path) => recordLog(env, path) })
      : createMemoryStore();
    try {
      return await look(store);
    } finally {
      await store.close();
    }
  }

  return {
    folder,
    run: (args, { point, afterMs, when } = {}) =>
      new Promise((done) => {
        const armed = point === undefined ? env : { ...env, RETINUE_CRASH: point };
        const child = spawn(process.execPath, [bin, ...args], { cwd: folder, env: armed, stdio: ['ignore', 'pipe', 'pipe'] });
        const timer = afterMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), afterMs);
        const watch = when && setInterval(() => when() && child.kill('SIGKILL'), 1);
        const said = outputOf(child);
        child.on('exit', (code, signal) => {
          clearTimeout(timer);
          clearInterval(watch);
          // Processes that a killed process had started may still hold its pipes, so their end is not awaited.
          const finish = () => done({ code, killed: signal === 'SIGKILL', ...said });
          if (signal === 'SIGKILL') finish();
          else child.on('close', finish);
        });
      }),
    read,
    facts: () => read((store) => store.facts({})),
    effects() {
      const times = (name: string) =>
        readFileSync(join(folder, 'effects', name), 'utf8')
          .trim()
          .split('\n')
          .map(Number);
      return new Map(readdirSync(join(folder, 'effects')).map((name) => [name, times(name)]));
    },
    askAboutWrites: () => writeFileSync(join(folder, 'retinue.config.json'), '{ "rules": ["ask write"] }'),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }),
  };
}

/** Approves every open question, as another process would, until the returned function is called. */
export function answering(place: TorturePlace): () => Promise<void> {
  let over = false;
  const sent = new Set<string>();
  const work = (async () => {
    while (!over) {
      if (existsSync(join(place.folder, '.retinue', 'retinue.db'))) await place.read(answerAll).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  async function answerAll(store: Store): Promise<void> {
    for (const { id, runId, rootId, turn, index, hash, askedAt } of await listOpenQuestions(store)) {
      // If the process that reads an order is killed, the order is still there for the next one.
      if (sent.has(id)) continue;
      const order = { id: randomUUID(), runId, rootId, kind: 'approve' as const, by: 'the user', text: '', at: askedAt };
      await store.order({ ...order, call: { turn, index, hash, always: false } });
      sent.add(id);
    }
  }
  return async () => {
    over = true;
    await work;
  };
}
