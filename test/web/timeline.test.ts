// The timeline of a tree: one row for each run as it appears, its critical path, zoom, and what waits.
import { expect, it } from 'vitest';
import { withDashboard } from './support/dashboard.ts';
import { createGate, delegate, playTasks } from './support/play-tasks.ts';
import { sampleOptions, startSample } from './support/sample-tree.ts';
import { markPage } from './support/tree-page.ts';
import { useBrowser } from './support/use-browser.ts';

const browser = useBrowser();

it('shows runs as they appear, and which of them the tree waited for', async () => {
  const [begins, ends] = [createGate(), createGate()];
  const answer = playTasks({
    'build the house': [
      { ...delegate({ task: 'lay the ground', label: 'quick' }, { task: 'raise the roof', label: 'slow' }), after: begins.opened },
      { text: 'built' },
    ],
    'lay the ground': [{ text: 'laid' }],
    'raise the roof': [{ text: 'raised', after: ends.opened }],
  });
  await withDashboard(browser(), { answer }, async ({ page, served, goto }) => {
    const { runId } = await served.client.start({ task: 'build the house', label: 'house' });
    await goto(`/trees/${runId}/timeline`);
    const rows = page.getByRole('treeitem');
    const names = () => rows.getByRole('link').allInnerTexts();
    await expect.poll(names).toEqual(['house']);
    const { isSame } = await markPage(page);
    begins.open();
    await expect.poll(names).toEqual(['house', 'quick', 'slow']);
    const duration = () => rows.filter({ hasText: 'slow' }).locator('.tl-duration').innerText();
    const before = await duration();
    await expect.poll(duration).not.toBe(before);
    ends.open();
    await expect.poll(async () => (await served.client.outcome(runId))?.status).toBe('completed');
    await page.getByRole('checkbox', { name: 'Critical path only' }).check();
    await expect.poll(names).toEqual(['house', 'slow']);
    expect(await isSame()).toBe(true);
  });
});

it('zooms with keys, opens a run, and tells waiting for approval apart', async () => {
  await withDashboard(browser(), sampleOptions, async ({ page, served, goto }) => {
    const { rootId, ids } = await startSample(served);
    await goto(`/trees/${rootId}/timeline`);
    await page.getByRole('treeitem').filter({ hasText: 'publish' }).waitFor();
    await page.getByRole('listitem').filter({ hasText: 'Waiting for approval' }).waitFor();
    const status = page.getByRole('status').filter({ hasText: /^\d/ }).first();
    expect(await status.innerText()).not.toContain(' of ');
    await page.keyboard.press('+');
    await expect.poll(() => status.innerText()).toMatch(/ – .* of /);
    await page.keyboard.press('0');
    await expect.poll(() => status.innerText()).not.toContain(' of ');
    await page.getByRole('treeitem').getByRole('link', { name: 'licence' }).click();
    await page.waitForURL(`**/runs/${ids.licence}`);
  });
});
