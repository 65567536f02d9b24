// Search over all runs and texts.
import { expect, it } from 'vitest';
import { withDashboard } from './support/dashboard.ts';
import { playTasks } from './support/play-tasks.ts';
import { useBrowser } from './support/use-browser.ts';

const browser = useBrowser();

it('finds a text in tasks, answers and results, and opens the record that has it', async () => {
  const answer = playTasks({
    'where is the pelican': [{ calls: [{ tool: 'read', args: { path: 'birds.txt' } }] }, { text: 'In the file of birds.' }],
    'another task': [{ text: 'The Pelican is not here.' }],
    'unrelated work': [{ text: 'nothing' }],
  });
  await withDashboard(browser(), { answer, files: { 'birds.txt': 'heron\npelican <b>white</b>\n' } }, async ({ page, served, goto }) => {
    for (const [task, label] of [
      ['where is the pelican', 'finder'],
      ['another task', 'other'],
      ['unrelated work', 'unrelated'],
    ] as const) {
      const { runId } = await served.client.start({ task, label });
      await expect.poll(async () => (await served.client.outcome(runId))?.status).toBe('completed');
    }
    await goto('/search');
    await expect.poll(() => page.evaluate('document.activeElement.type')).toBe('search');
    await page.keyboard.type('PELICAN');
    const hits = page.getByRole('main').getByRole('listitem');
    await hits.first().waitFor();
    expect(new Set(await hits.locator('strong').allInnerTexts())).toEqual(new Set(['finder', 'other']));
    expect(new URL(page.url()).searchParams.get('q')).toBe('PELICAN');
    const marks = await page.locator('mark').allInnerTexts();
    expect(new Set(marks.map((text) => text.toLowerCase()))).toEqual(new Set(['pelican']));
    await hits.filter({ hasText: '<b>white</b>' }).first().click();
    await page.waitForURL('**/runs/*?tab=log*');
    await page.getByText('<b>white</b>').first().waitFor();

    await page.goBack();
    await page.getByRole('searchbox', { name: 'Search in all runs' }).fill('albatross');
    await page.getByRole('heading', { name: 'Nothing found' }).waitFor();
  });
});
