// What `retinue demo crash` prints is counted; here it is held against the database that it leaves.
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import type { CrashDemo } from '../../src/cli/io.ts';
import type { StoredFact } from '../../src/contract/fact.ts';
import { createPlace } from './support-process.ts';

it('a tree of six runs is killed and resumed, and no call is repeated', { timeout: 60_000 }, async () => {
  using place = createPlace({ runs: [] });
  const { code, out, err } = await place.run('demo', 'crash', '--json');
  expect(code, err).toBe(0);
  const found = JSON.parse(out) as CrashDemo;
  expect(found).toMatchObject({ runs: 6, completed: 6, model: { repeated: 0 }, tools: { repeated: 0 }, faults: [] });
  expect(found.openAtKill).toBeGreaterThan(0);
  expect(found.model.asked).toBeGreaterThan(found.model.answered);
  const facts = JSON.parse((await place.run('logs', 'last', '--tree', '--json', '--db', found.db)).out) as StoredFact[];
  expect(facts.filter((fact) => fact.type === 'model.answered')).toHaveLength(found.model.answered);
  expect(facts.filter((fact) => fact.type === 'run.resumed')).toHaveLength(found.openAtKill);
  rmSync(dirname(dirname(found.db)), { recursive: true, force: true });
});
