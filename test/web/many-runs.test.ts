// A tree of 2,000 runs: only what is visible is in the document, and every run can be reached.
import { expect, it } from 'vitest';
import { withDashboard } from './support/dashboard.ts';
import { seedTree } from './support/seed.ts';
import { readRows } from './support/tree-page.ts';
import { useBrowser } from './support/use-browser.ts';

const browser = useBrowser();
const children = 2_000;
const names = async (page: Parameters<typeof readRows>[0]) => (await readRows(page)).map(({ name }) => name);

it('shows, scrolls and filters 2,000 runs with few rows in the document', async () => {
  const prepare = ({ place }: { place: { folder: string } }) => seedTree(place.folder, { label: 'many', children });
  await withDashboard(browser(), { prepare }, async ({ page, served }) => {
    const [{ runId } = { runId: '' }] = await served.client.runs({ all: true, roots: true });
    const began = performance.now();
    await page.goto(`${served.url}/trees/${runId}`);
    await page.getByRole('treegrid').waitFor();
    const paintMs = performance.now() - began;
    expect(await page.getByRole('treegrid').getAttribute('aria-rowcount')).toBe(String(children + 2));
    expect((await names(page)).slice(0, 3)).toEqual(['many', 'part 0', 'part 1']);
    expect((await names(page)).length).toBeLessThan(100);
    // Far more than it takes: this is no measurement, but a page that draws 2,000 rows or asks 2,000 times would not pass.
    expect(paintMs).toBeLessThan(30_000);

    await page.evaluate('scrollTo(0, document.body.scrollHeight / 2)');
    await expect.poll(async () => (await names(page)).includes('part 1000')).toBe(true);
    expect((await names(page)).length).toBeLessThan(100);
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    await expect.poll(async () => (await names(page)).at(-1)).toBe(`part ${children - 1}`);

    await page.evaluate('scrollTo(0, 0)');
    await page.getByRole('treegrid').getByRole('row').nth(1).focus();
    await page.keyboard.press('End');
    await expect.poll(async () => (await names(page)).at(-1)).toBe(`part ${children - 1}`);
    const focused = () => page.evaluate<string>('document.activeElement.querySelector(".run-name")?.textContent ?? ""');
    await expect.poll(focused).toBe(`part ${children - 1}`);

    await page.getByRole('searchbox', { name: 'Filter runs' }).fill('part 1234');
    await expect.poll(() => names(page)).toEqual(['many', 'part 1234']);
  });
});
