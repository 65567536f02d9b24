// A flow in the dashboard: its steps in the tree, what it waits for, and the answer to its question.
import { expect, it } from 'vitest';
import { findBarriers } from './support/axe.ts';
import { withDashboard } from './support/dashboard.ts';
import { useBrowser } from './support/use-browser.ts';

const browser = useBrowser();
const program = `
import { defineFlow } from 'retinue/flow';
export default defineFlow('publish', null, async (flow) => {
  for (let i = 1; i <= 6; i++) await flow.step('convert chapter ' + i, () => i);
  await flow.step('upload', () => { throw new Error('the registry refused it'); }).catch(() => null);
  const sleep = flow.sleep(3_600_000);
  const answer = await flow.ask('Publish to all customers?', { timeoutMs: 3_600_000 });
  return { allowed: answer.approved, reason: answer.reason };
});
`;

it('shows steps in groups, what a flow waits for, and its question', { timeout: 120_000 }, async () => {
  const files = { '.retinue/flows/publish.ts': program };
  const prepare = async ({ place }: { place: { run(...args: string[]): Promise<{ code: number | null }> } }) => {
    expect((await place.run('trust', '--yes')).code).toBe(0);
  };
  await withDashboard(browser(), { files, prepare }, async ({ page, served, goto }) => {
    const { runId } = await served.client.startFlow({ name: 'publish', input: null });
    await goto(`/trees/${runId}`);
    const row = (name: string) => page.getByRole('row').filter({ has: page.getByText(name, { exact: true }) });
    await row('Publish to all customers?').getByText('needs an answer', { exact: true }).waitFor();
    await row('upload').getByText('failed: the registry refused it').waitFor();
    await row('sleep 1h00m')
      .getByText(/^until .*UTC/)
      .waitFor();
    await row('publish').getByText('asks: Publish to all customers?').waitFor();
    await row('publish').getByText('1 failed').waitFor();
    // Nothing has been spent, which is not the same as an unknown price.
    expect(await page.getByRole('main').innerText()).toMatch(/Cost\s+\$0/);
    expect(await findBarriers(page)).toEqual([]);
    // Completed steps are one row, and a click or an arrow key unfolds it.
    expect(await page.getByText('convert chapter 1', { exact: true }).count()).toBe(0);
    await row('6 steps').getByTitle('completed').last().click();
    await page.getByText('convert chapter 6', { exact: true }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/trees/${runId}`);
    await row('6 steps').focus();
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => page.getByText('convert chapter 6', { exact: true }).count()).toBe(0);

    await page.getByRole('link', { name: /^Approvals/ }).click();
    const card = page.getByRole('article', { name: 'the flow “publish” asks' });
    await card.getByText('Publish to all customers?', { exact: true }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    expect(await card.getByRole('button').allInnerTexts()).toEqual(['Approve', 'Refuse…']);
    expect(await card.innerText()).toMatch(/step \d+, asked/);
    await expect
      .poll(async () => {
        await card
          .getByRole('button', { name: 'Refuse…' })
          .click({ timeout: 1_000 })
          .catch(() => {});
        return card.getByLabel('Why not? The flow reads this (optional)').count();
      })
      .toBe(1);
    await card.getByRole('textbox').fill('not on a Friday');
    await page.keyboard.press('Enter');
    await card.getByText('Refused.').waitFor();

    await goto(`/trees/${runId}`);
    const outcome = page.getByRole('region', { name: 'Outcome' });
    await outcome.getByText('not on a Friday').waitFor();
    // The data is shown once, and a flow has no turns.
    expect((await outcome.innerText()).split('not on a Friday')).toHaveLength(2);
    expect(await outcome.innerText()).not.toContain('turn');
  });
});
