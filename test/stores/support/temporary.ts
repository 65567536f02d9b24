import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A directory of its own, and the place of a database in it. */
export function temporary(): { path: string; db: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'retinue-store-'));
  return { path, db: join(path, 'retinue.db'), remove: () => rmSync(path, { recursive: true, force: true }) };
}
