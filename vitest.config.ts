import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { isolatedTests } from './test/support/isolated-tests.ts';
import { SlowestFirst } from './test/support/slowest-first.ts';

const include = ['test/**/*.test.ts'];
const web = ['test/web/**/*.test.ts'];
const isolated = isolatedTests(include);
const shared = {
  pool: 'forks',
  // Most tests wait, for processes or for time to pass, so two of them share a core.
  maxWorkers: Math.min(8, 2 * availableParallelism()),
  // Ends a test that hangs. What a test promises about time it measures itself, so a busy machine only makes it slower.
  testTimeout: 60_000,
  hookTimeout: 60_000,
  // Two loaded cores may stand still for seconds. A test that fails is tried once more, and named at the end if it passes then.
  retry: 1,
  // `expect.poll` waits for a condition. Shorter than a test, so that the failure names the condition.
  expect: { poll: { timeout: 50_000 } },
} as const;

export default defineConfig({
  test: {
    globalSetup: ['scripts/ensure-built.mjs', 'test/support/postgres/global.ts'],
    reporters: ['default', './test/support/closing-line.ts'],
    sequence: { sequencer: SlowestFirst },
    maxWorkers: shared.maxWorkers,
    projects: [
      { test: { ...shared, name: 'isolated', include: isolated, isolate: true } },
      // One process runs many files, which saves half a second for each.
      { test: { ...shared, name: 'shared', include, exclude: [...isolated, ...web], isolate: false } },
      // Each waits for a server, a browser and the runs that it watches. A condition that is not met fails before the test ends.
      {
        test: {
          ...{ ...shared, name: 'web', include: web, isolate: false, testTimeout: 240_000, hookTimeout: 120_000 },
          expect: { poll: { timeout: 45_000, interval: 50 } },
        },
      },
    ],
  },
});
