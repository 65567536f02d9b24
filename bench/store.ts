// Facts per second that the stores accept: batches of 100 units with 7 facts and a row each, one batch after another.
// `node bench/store.ts [batches]`
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunRow } from '../src/contract/run.ts';
import type { Store, TreeAppend, WrittenFact } from '../src/ports/store.ts';
import { createMemoryStore } from '../src/stores/memory.ts';
import { createOrderAuthenticator } from '../src/stores/order-authenticator.ts';
import { openPostgresStore } from '../src/stores/postgres/create.ts';
import { openSqliteStore } from '../src/stores/sqlite/create.ts';
import { startPostgresServer } from '../test/support/postgres/server.ts';

const key = new Uint8Array(32).fill(1);
const authenticator = createOrderAuthenticator({ read: () => key, create: () => key });
const batches = Number(process.argv[2] ?? 300);
const perBatch = 100;
const at = '2026-01-01T00:00:00.000Z';
const text = JSON.stringify({ from: 'bench', text: 'x'.repeat(300) });
const data = JSON.parse(text);
let count = 0;

const nextId = () => createHash('sha256').update(String(++count)).digest('hex').slice(0, 16);

function createUnit(rootId: string, runId: string): TreeAppend {
  const hash = createHash('sha256').update(runId).digest('hex');
  const facts: WrittenFact[] = [];
  for (let seq = 1; seq <= 7; seq++) facts.push({ runId, seq, at, v: 1, type: 'message.received', data, hash, text });
  const row: RunRow = {
    ...{ runId, parentId: rootId === runId ? null : rootId, rootId, depth: 1, kind: 'agent', label: 'bench', agent: 'general' },
    ...{ model: 'script/bench', status: 'completed', activity: null, turns: 2, costUsd: 0.01, idempotencyKey: null, lastSeq: 7 },
    ...{ tokens: { input: 100, output: 20, cached: 0, reasoning: 0 }, createdAt: at, startedAt: at, endedAt: at, lastHash: hash },
  };
  return { rootId, facts, rows: [row], blobs: [], consumed: [] };
}

async function measure(name: string, store: Store, root: 'one' | 'each'): Promise<void> {
  const owner = await store.open();
  const shared = nextId();
  const work = Array.from({ length: batches }, () =>
    Array.from({ length: perBatch }, () => {
      const runId = nextId();
      return createUnit(root === 'one' ? shared : runId, runId);
    }),
  );
  const times: number[] = [];
  const start = performance.now();
  for (const units of work) {
    const begin = performance.now();
    const results = await store.append(owner, units);
    if (results.some(({ ok }) => !ok)) throw new Error('a unit was refused');
    times.push(performance.now() - begin);
  }
  const ms = performance.now() - start;
  const closing = performance.now();
  await store.close();
  const closed = performance.now() - closing;
  times.sort((a, b) => a - b);
  const quantile = (q: number) => (times[Math.min(times.length - 1, Math.floor(times.length * q))] as number).toFixed(1);
  const rate = Math.round((batches * perBatch * 7 * 1000) / ms).toLocaleString('en');
  const spread = `p50 ${quantile(0.5)} p99 ${quantile(0.99)} max ${quantile(1)} ms per batch, close ${closed.toFixed(0)} ms`;
  console.log(`${name.padEnd(34)} ${rate.padStart(10)} facts/s   ${spread}`);
}

const directory = mkdtempSync(join(tmpdir(), 'retinue-bench-'));
const server = await startPostgresServer({ isDurable: true, settings: ['max_wal_size=1GB'] });
try {
  for (const root of ['one', 'each'] as const) {
    const trees = root === 'one' ? 'one tree' : 'a tree each';
    await measure(`memory, ${trees}`, createMemoryStore(), root);
    for (const durability of ['normal', 'full'] as const) {
      const path = join(directory, `${root}-${durability}.db`);
      await measure(`sqlite ${durability}, ${trees}`, await openSqliteStore({ path, durability, authenticator }), root);
    }
    await measure(`postgres, ${trees}`, await openPostgresStore({ url: server.url(), authenticator }), root);
  }
} finally {
  await server.remove();
  rmSync(directory, { recursive: true });
}
