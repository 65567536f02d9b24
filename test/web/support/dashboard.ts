// One test of the dashboard: a served workspace and a page that has opened its link. The test fails if the page asked another server for something,
// reported an error or broke its content security policy.
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { expect } from 'vitest';
import { type Served, type ServedOptions, serveWorkspace } from './served.ts';
import { watchPages } from './watch-page.ts';

export interface DashboardOptions extends ServedOptions {
  context?: BrowserContextOptions;
  /** Console messages that the test causes on purpose. */
  allowed?: readonly RegExp[];
  /** Before the page is opened. */
  prepare?(served: Served): Promise<void>;
}

export interface Dashboard {
  served: Served;
  context: BrowserContext;
  page: Page;
  /** Opens a page of the dashboard. */
  goto(path: string): Promise<void>;
}

/** The longest wait for a condition in the page; a test that hangs fails with the name of the condition. */
const patienceMs = 45_000;

export async function withDashboard(
  browser: Browser,
  options: DashboardOptions,
  use: (dashboard: Dashboard) => Promise<void>,
): Promise<void> {
  await using served = await serveWorkspace(options);
  await options.prepare?.(served);
  // Without a graphics card, movement takes most of the browser's time.
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce', ...options.context });
  context.setDefaultTimeout(patienceMs);
  try {
    const { problems } = await watchPages(context, served.url, options.allowed);
    const page = await context.newPage();
    const goto = async (path: string) => void (await page.goto(new URL(path, served.url).href));
    try {
      await page.goto(served.link);
      await use({ served, context, page, goto });
    } catch (error) {
      await keepPicture(page);
      if (problems.length > 0) console.error(`The page also reported:\n${problems.join('\n')}`);
      throw error;
    }
    expect(problems, 'what the page must not do').toEqual([]);
  } finally {
    await context.close();
  }
}

/** What the page looked like when the test failed. */
async function keepPicture(page: Page): Promise<void> {
  const folder = resolve('node_modules/.cache/retinue/web');
  mkdirSync(folder, { recursive: true });
  const name = (expect.getState().currentTestName ?? 'test').replace(/\W+/g, '-').slice(0, 100);
  const path = `${folder}/${name}.png`;
  await page.screenshot({ path, animations: 'allow', caret: 'initial' }).then(
    () => console.error(`Picture of the page: ${path}`),
    () => {},
  );
}
