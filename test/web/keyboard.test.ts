// A user without a mouse: opens a tree, a run, and cancels it.
import { expect, it } from 'vitest';
import { withDashboard } from './support/dashboard.ts';
import { delegate, playTasks } from './support/play-tasks.ts';
import { untilRows } from './support/tree-page.ts';
import { useBrowser } from './support/use-browser.ts';

const browser = useBrowser();

it('opens a tree and a run, and cancels a run, with keys alone', async () => {
  const answer = playTasks({
    'lead the work': [delegate({ task: 'left part', label: 'left' }, { task: 'right part', label: 'right' })],
    'left part': [{ fault: { kind: 'no-first-byte' } }],
    'right part': [{ fault: { kind: 'no-first-byte' } }],
  });
  await withDashboard(browser(), { answer }, async ({ page, served }) => {
    const { runId } = await served.client.start({ task: 'lead the work', label: 'lead' });
    const { keyboard } = page;
    const active = () =>
      page.evaluate<string>(`(({ activeElement: element }) =>
        element.ariaLabel || (element.dataset.run ? element.querySelector('.run-name').textContent : element.textContent))(document)`);
    /** Presses the key until the element with this name has the focus. */
    const pressUntil = async (key: string, name: string | RegExp) => {
      for (let presses = 0; presses < 40; presses++) {
        const current = await active();
        if (typeof name === 'string' ? current === name : name.test(current)) return;
        await keyboard.press(key);
      }
      throw new Error(`${key} does not lead to ${name}, but to ${await active()}`);
    };

    await page.getByRole('link', { name: 'lead', exact: true }).waitFor();
    await pressUntil('Tab', 'lead');
    await keyboard.press('Enter');
    await page.waitForURL(`**/trees/${runId}`);
    await untilRows(page, { lead: 'waiting', left: 'running', right: 'running' });
    await pressUntil('Tab', 'lead');
    await pressUntil('ArrowDown', 'left');
    await keyboard.press('ArrowLeft');
    expect(await active()).toBe('lead');
    await keyboard.press('ArrowLeft');
    await untilRows(page, { lead: 'waiting' });
    await keyboard.press('ArrowRight');
    await untilRows(page, { lead: 'waiting', left: 'running', right: 'running' });
    await pressUntil('ArrowDown', 'right');
    await keyboard.press('Enter');
    await page.waitForURL('**/runs/*');
    const child = page.url().split('/').at(-1) as string;
    expect((await served.client.run(child)).label).toBe('right');

    await page.getByRole('button', { name: 'More actions' }).waitFor();
    await pressUntil('Tab', 'More actions');
    await keyboard.press('Enter');
    await page.getByRole('menu').waitFor();
    await expect.poll(active).not.toBe('More actions');
    await pressUntil('ArrowDown', 'Cancel…');
    await keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await pressUntil('Tab', 'Cancel run');
    await keyboard.press('Enter');
    await expect.poll(async () => (await served.client.run(child)).status).toBe('cancelled');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
});
