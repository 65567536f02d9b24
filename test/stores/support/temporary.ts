import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new directory and the path of a database in it. */
export function createTemporaryDirectory(): { path: string; db: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'retinue-store-'));
  return { path, db: join(path, 'retinue.db'), remove: () => rmSync(path, { recursive: true, force: true }) };
}
