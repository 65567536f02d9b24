// One browser for all tests of a file.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { type LaunchedBrowser, launchBrowser } from './launch-browser.ts';

/** Without a browser, every test of the file fails with the sentence that says how to install one. None is skipped. */
export function useBrowser(): () => Browser {
  let launched: LaunchedBrowser | null = null;
  let problem: unknown = null;
  beforeAll(async () => {
    try {
      launched = await launchBrowser();
    } catch (error) {
      problem = error;
    }
  });
  afterAll(async () => {
    await launched?.[Symbol.asyncDispose]();
  });
  return () => {
    if (launched === null) throw problem;
    return launched.browser;
  };
}
