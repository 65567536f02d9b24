import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/build.ts'],
    reporters: ['default', './test/support/closing-line.ts'],
    pool: 'forks',
    testTimeout: 20_000,
    maxWorkers: 2,
  },
});
