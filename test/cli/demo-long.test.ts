// What `retinue demo long` prints is held against the database that it leaves: 500 turns through a window of 16k tokens.
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import type { LongDemo } from '../../src/cli/io.ts';
import type { StoredFact } from '../../src/contract/fact.ts';
import { createPlace } from './support-process.ts';

it('500 turns end within window and budget, and the run still knows what its first turn read', { timeout: 120_000 }, async () => {
  using place = createPlace({ runs: [] });
  const { code, out, err } = await place.run('demo', 'long', '--json');
  expect(code, err).toBe(0);
  const found = JSON.parse(out) as LongDemo;
  expect(found).toMatchObject({ status: 'completed', turns: 500, window: 16_384, isRemembered: true, faults: [] });
  expect(found.largest).toBeLessThanOrEqual(found.window);
  expect(found.costUsd).toBeLessThan(found.maxCostUsd);
  const facts = JSON.parse((await place.run('logs', 'last', '--json', '--db', found.db)).out) as StoredFact[];
  const compacted = facts.filter((fact) => fact.type === 'context.compacted');
  expect(compacted).toHaveLength(found.compactions);
  expect(found.compactions).toBeGreaterThan(5);
  expect(facts.filter((fact) => fact.type === 'model.answered')).toHaveLength(500 + compacted.length);
  rmSync(dirname(found.db), { recursive: true, force: true });
});
