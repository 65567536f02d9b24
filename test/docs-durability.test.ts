// docs/durability.md has the number of crash points.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { crashPoints, queueCrashPoints } from '../src/ports/crash.ts';

it('docs/durability.md counts the crash points of runs and of workers', () => {
  const page = readFileSync(join(import.meta.dirname, '../docs/durability.md'), 'utf8');
  const ofWorkers = queueCrashPoints.length;
  expect(page).toContain(
    `| ${crashPoints.length - ofWorkers} named points, before and after each effect, and ${ofWorkers} more in workers`,
  );
});
