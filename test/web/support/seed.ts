// Many finished runs in the database of a served workspace, made by the library in this process: the quickest way that uses the real kernel and store.
import { join } from 'node:path';
import { createRetinue } from '../../../src/main/library.ts';
import { openDatabase } from '../../../src/main/open-database.ts';
import { scriptedModel } from '../../../src/main/testing.ts';

export interface SeedOptions {
  /** The label of the root, which is a client without a model. */
  label: string;
  children: number;
  /** The label of a child. */
  name?(index: number): string;
}

/** Resolves when all runs have ended. */
export async function seedTree(folder: string, { label, children, name = (index) => `part ${index}` }: SeedOptions): Promise<void> {
  const store = await openDatabase({
    ...{
      env: { HOME: folder },
      db: { kind: 'file', path: join(folder, '.retinue', 'retinue.db') },
      durability: 'normal',
      access: 'create',
      adopt: false,
    },
    warn: (message) => {
      throw new Error(message);
    },
  });
  const model = scriptedModel({ runs: [{ times: 'any', steps: [{ text: 'done' }] }] });
  await using retinue = createRetinue({ model, store, workspace: folder });
  await using scope = retinue.scope({ label, limits: { maxRuns: children + 1, maxConcurrent: 64 } });
  const briefs = Array.from({ length: children }, (_, index) => ({ task: `look at part ${index}`, label: name(index), agent: 'explore' }));
  const results = await scope.all(briefs, { concurrency: 64 });
  const failed = results.find((result) => result.status === 'rejected' || !result.value.success);
  if (failed) throw new Error(JSON.stringify(failed));
}
