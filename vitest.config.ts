import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/build.ts'],
    pool: 'forks',
    testTimeout: 20_000,
    maxWorkers: 2,
  },
});
