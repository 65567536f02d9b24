// One browser for all tests of a file.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { type LaunchedBrowser, launchBrowser } from './launch-browser.ts';

export function useBrowser(): () => Browser {
  let launched: LaunchedBrowser | null = null;
  beforeAll(async () => {
    launched = await launchBrowser();
  });
  afterAll(async () => {
    await launched?.[Symbol.asyncDispose]();
  });
  return () => (launched as LaunchedBrowser).browser;
}
