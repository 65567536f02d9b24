// A full disk, simulated with a small file system. Skipped without the permission to mount one.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isRetinueError } from '../../src/contract/error.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { anyAgent, checkJournal, tool } from '../support/adversary.ts';
import { createWorld } from '../support/world.ts';

let disk = '';

beforeEach(() => {
  disk = mkdtempSync(join(tmpdir(), 'retinue-full-'));
  if (canMount) execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', disk]);
});
afterEach(() => {
  if (canMount) execFileSync('umount', ['-l', disk]);
  rmSync(disk, { recursive: true, force: true });
});

const canMount = (() => {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'ignore' });
    execFileSync('umount', [folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
})();

/** Fills the disk except for `leave` bytes. */
function fillDisk(leave: number): string {
  const { bavail, bsize } = statfsSync(disk);
  const filler = join(disk, 'filler');
  writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - leave)));
  return filler;
}

describe.runIf(canMount)('a full disk', () => {
  it('in the middle of a run is a typed error without a partial fact, and the run continues when there is space again', async () => {
    const path = join(disk, 'retinue.db');
    const big = tool('big', async () => ({ output: 'x'.repeat(40_000) }));
    const calls = (n: number) => ({ calls: [{ tool: 'big', args: { n } }] });
    const steps = [...Array.from({ length: 30 }, (_, n) => calls(n)), { text: 'done' }];
    const options = { script: { runs: [{ steps }] }, agents: [anyAgent], tools: [big] };
    const store = await openSqliteStore({ path, durability: 'normal' });
    const first = await createWorld({ ...options, store });
    const filler = fillDisk(400_000);
    const run = await first.runtime.start({ task: 'x', agent: 'any', limits: { maxTokens: 1_000_000_000 } });
    const error = await run.outcome.catch((thrown: unknown) => thrown);
    expect(isRetinueError(error) && [error.code, error.retryable]).toEqual(['store_io', true]);
    rmSync(filler);
    await first.runtime.close();
    await store.close();
    const again = await openSqliteStore({ path, durability: 'normal' });
    const facts = await again.facts({ runId: run.id });
    expect(facts.length).toBeGreaterThan(3);
    expect(facts.some((fact) => fact.type === 'run.ended')).toBe(false);
    await using second = await createWorld({ ...options, store: again, settings: { workspace: first.workspace } });
    const resumed = await second.runtime.resume(run.id, 'a test');
    expect(await (resumed.ok && resumed.handles[0]?.outcome)).toMatchObject({ status: 'completed', summary: 'done', turns: 31 });
    await checkJournal(second);
  });

  it('before the first write is a clear error and leaves no empty database', async () => {
    fillDisk(2_000);
    const opened = await openSqliteStore({ path: join(disk, 'retinue.db'), durability: 'normal' }).catch((error: unknown) => error);
    expect(isRetinueError(opened) && opened.code).toBe('store_io');
  });
});
