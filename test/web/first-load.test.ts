// What a browser loads before it can show the list of trees.
import { expect, it } from 'vitest';
import { withDashboard } from './support/dashboard.ts';
import { useBrowser } from './support/use-browser.ts';

const browser = useBrowser();
const maxBytes = 150 * 1024;

/** Bytes of scripts as they were sent, from the server's own compression. */
const scriptBytes = `performance.getEntriesByType('resource').filter(({ name }) => new URL(name).pathname.endsWith('.js'))
  .map(({ name, encodedBodySize }) => [new URL(name).pathname, encodedBodySize])`;

it('is at most 150 KB of script', async () => {
  await withDashboard(browser(), {}, async ({ page }) => {
    await page.getByRole('heading', { level: 1 }).waitFor();
    const loaded = await page.evaluate<[string, number][]>(scriptBytes);
    expect(loaded.map(([name]) => name)).toContainEqual(expect.stringMatching(/^\/assets\/index-/));
    expect(loaded.every(([, bytes]) => bytes > 0)).toBe(true);
    expect(loaded.reduce((sum, [, bytes]) => sum + bytes, 0)).toBeLessThanOrEqual(maxBytes);
  });
});
