// Every page with axe-core in both themes, and on a phone.
import { describe, expect, it } from 'vitest';
import { findBarriers, sidewaysScroll } from './support/axe.ts';
import { type Dashboard, withDashboard } from './support/dashboard.ts';
import { type SampleTree, sampleOptions, startSample } from './support/sample-tree.ts';
import { useBrowser } from './support/use-browser.ts';

const browser = useBrowser();

const pages: Record<string, (sample: SampleTree) => string> = {
  trees: () => '/',
  tree: ({ rootId }) => `/trees/${rootId}`,
  timeline: ({ rootId }) => `/trees/${rootId}/timeline`,
  'completed run': ({ ids }) => `/runs/${ids.greeting}`,
  'waiting run': ({ ids }) => `/runs/${ids.publish}`,
  'running run': ({ ids }) => `/runs/${ids.watch}`,
  'failed run': ({ ids }) => `/runs/${ids.licence}`,
  approvals: () => '/approvals',
  costs: () => '/costs',
  search: () => '/search?q=greeting',
  start: () => '/start',
};

/** Opens the page and waits until it has loaded its data. */
async function show({ page, goto }: Dashboard, path: string): Promise<void> {
  await goto(path);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await expect.poll(() => page.getByText('Loading…').count()).toBe(0);
  await page.waitForLoadState('load');
}

/** Checks a page in both themes. Only the colours differ in the second one. */
async function findInThemes({ page }: Dashboard): Promise<string[]> {
  await page.emulateMedia({ colorScheme: 'light' });
  const light = await findBarriers(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  return [...light, ...(await findBarriers(page, ['color-contrast', 'link-in-text-block']))];
}

const nothing = (names: string[]) => Object.fromEntries(names.map((name) => [name, []]));

describe('a workspace with a tree', () => {
  it('has no serious barriers in both themes', async () => {
    await withDashboard(browser(), sampleOptions, async (dashboard) => {
      const sample = await startSample(dashboard.served);
      const found: Record<string, string[]> = {};
      for (const [name, path] of Object.entries(pages)) {
        await show(dashboard, path(sample));
        found[name] = await findInThemes(dashboard);
      }
      expect(found).toEqual(nothing(Object.keys(pages)));
    });
  });

  it('needs no sideways scrolling at a width of 390 pixels', async () => {
    const context = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
    await withDashboard(browser(), { ...sampleOptions, context }, async (dashboard) => {
      const sample = await startSample(dashboard.served);
      const found: Record<string, number> = {};
      for (const [name, path] of Object.entries(pages)) {
        await show(dashboard, path(sample));
        found[name] = await sidewaysScroll(dashboard.page);
      }
      expect(found).toEqual(Object.fromEntries(Object.keys(pages).map((name) => [name, 0])));
    });
  });
});

describe('an empty workspace', () => {
  it('has no serious barriers in both themes', async () => {
    await withDashboard(browser(), {}, async (dashboard) => {
      const paths = ['/', '/approvals', '/costs', '/search', '/start'];
      const found: Record<string, string[]> = {};
      for (const path of paths) {
        await show(dashboard, path);
        found[path] = await findInThemes(dashboard);
      }
      expect(found).toEqual(nothing(paths));
    });
  });
});
