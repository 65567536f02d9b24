// Live text between processes: over the owner's socket, while somebody listens, and to readers that cannot write.
import { once } from 'node:events';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Delta } from '../../src/contract/delta.ts';
import type { Owner, Store } from '../../src/ports/store.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { openSqliteReader } from '../../src/stores/sqlite/reader.ts';
import { testAuthenticator } from './support/authenticator.ts';
import { createTemporaryDirectory } from './support/temporary.ts';
import { createRunId, createUnit } from './support/units.ts';

const root = createRunId(1);
const delta: Delta = { type: 'delta', runId: root, turn: 1, kind: 'text', text: 'live' };
let directory: ReturnType<typeof createTemporaryDirectory>;
let store: Store;
let owner: Owner;
beforeEach(async () => {
  directory = createTemporaryDirectory();
  store = await openSqliteStore({ path: directory.db, authenticator: testAuthenticator });
  owner = await store.open();
});
afterEach(async () => {
  await store.close();
  directory.remove();
});

it('a store that only reads gets live text, and notices new facts long before it would look for them', async () => {
  const reader = await openSqliteReader({ path: directory.db, timing: { poll: 1 << 30 } });
  const got: Delta[] = [];
  const changed = vi.fn();
  const endWatch = reader.watch(changed);
  const end = reader.subscribe((each) => void got.push(each));
  await expect
    .poll(() => {
      store.publish(delta);
      return got[0];
    })
    .toEqual(delta);
  changed.mockClear();
  await store.append(owner, [createUnit(root, root, 1, 3)]);
  await expect.poll(() => changed.mock.calls.length).toBeGreaterThan(0);
  end();
  endWatch();
  await reader.close();
});

it('a subscriber that never reads costs the owner a bounded amount of memory', async () => {
  using db = new DatabaseSync(directory.db, { readOnly: true });
  const name = db.prepare('SELECT socket FROM owners').get()?.socket as string;
  const socket = connect(join(tmpdir(), `retinue-${process.getuid?.()}`, name));
  socket.pause();
  await new Promise<void>((resolve) => socket.write('s', () => resolve()));
  const text = 'x'.repeat(10_000);
  for (let n = 0; n < 2_000; n++) {
    store.publish({ ...delta, text });
    if (n % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  // 20 MB were published; what was kept for it arrives when the owner ends.
  let arrived = 0;
  socket.on('data', (chunk) => {
    arrived += chunk.length;
  });
  const closed = once(socket, 'close');
  socket.resume();
  await store.close();
  await closed;
  expect(arrived).toBeGreaterThan(10_000);
  expect(arrived).toBeLessThan(5_000_000);
});

it('connects again to nothing that has ended, and to every process that comes', async () => {
  const reader = await openSqliteReader({ path: directory.db });
  const got: string[] = [];
  const end = reader.subscribe(({ text }) => void got.push(text));
  for (let n = 0; n < 3; n++) {
    await expect
      .poll(() => {
        store.publish({ ...delta, text: `process ${n}` });
        return got;
      })
      .toContain(`process ${n}`);
    await store.close();
    store = await openSqliteStore({ path: directory.db, authenticator: testAuthenticator });
    owner = await store.open();
  }
  end();
  await reader.close();
});
