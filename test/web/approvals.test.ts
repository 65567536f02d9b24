// Approvals: the whole call is in view, the answer is for exactly this call, and what was shown is what is executed.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { withDashboard } from './support/dashboard.ts';
import { playTasks, readResults } from './support/play-tasks.ts';
import { useBrowser } from './support/use-browser.ts';

const browser = useBrowser();
const config = { rules: ['ask write'] };
const content = Array.from({ length: 300 }, (_, line) => `line ${line + 1} of <b>300</b>`).join('\n');
const note = (path: string, text: string) => ({ calls: [{ tool: 'write', args: { path, content: text } }] });

/** The card of the call that writes this file. */
const card = (page: Page, path: string) => page.getByRole('article').filter({ hasText: path });

/** Clicks do nothing in the first moment after a card has appeared, so this repeats until the card has changed. */
async function clickUntil(page: Page, path: string, button: string | RegExp, isDone: () => Promise<boolean>): Promise<void> {
  await expect
    .poll(async () => {
      if (await isDone()) return true;
      await card(page, path)
        .getByRole('button', { name: button })
        .click({ timeout: 5_000 })
        .catch(() => {});
      return isDone();
    })
    .toBe(true);
}

it('approves a call that is shown completely, and executes exactly that', async () => {
  const answer = playTasks({ 'write it down': [note('a.txt', content), { text: 'written' }] });
  await withDashboard(browser(), { answer, config }, async ({ page, served }) => {
    const { runId } = await served.client.start({ task: 'write it down', label: 'writer' });
    await page
      .getByRole('link', { name: /^Approvals/ })
      .getByText('1')
      .waitFor();
    await page.getByRole('link', { name: /^Approvals/ }).click();
    await card(page, 'a.txt').getByText('ask write').waitFor();
    const shown = await card(page, 'a.txt').innerText();
    expect(
      content.split('\n').filter((line) => !shown.includes(line)),
      'lines that are not shown',
    ).toEqual([]);
    expect(existsSync(join(served.place.folder, 'a.txt'))).toBe(false);

    const [question] = await served.client.questions();
    const sent = page.waitForRequest((request) => request.method() === 'POST');
    const isApproved = async () => (await card(page, 'a.txt').getByText('Approved.').count()) === 1;
    await clickUntil(page, 'a.txt', 'Approve once', isApproved);
    expect((await sent).postDataJSON()).toEqual({ allowed: true, hash: question?.hash });
    await expect.poll(async () => (await served.client.outcome(runId))?.summary).toBe('written');
    expect(readFileSync(join(served.place.folder, 'a.txt'), 'utf8')).toBe(content);
    const facts = await served.client.facts(runId);
    expect(facts.filter(({ type }) => type === 'approval.answered')).toHaveLength(1);
  });
});

it('refuses a call with a reason that the model reads, and nothing is executed', async () => {
  const answer = playTasks({ 'write it down': [note('a.txt', 'a'), { text: 'not written' }] });
  await withDashboard(browser(), { answer, config }, async ({ page, served, goto }) => {
    const { runId } = await served.client.start({ task: 'write it down' });
    await goto('/approvals');
    const field = page.getByLabel('Why not?');
    await clickUntil(page, 'a.txt', 'Refuse…', async () => (await field.count()) === 1);
    await field.fill('not into this folder');
    await clickUntil(page, 'a.txt', /^Refuse$/, async () => (await card(page, 'a.txt').getByText('Refused.').count()) === 1);
    await expect.poll(async () => (await served.client.outcome(runId))?.summary).toBe('not written');
    expect(readResults(served.provider.requests.at(-1)!).join()).toContain('not into this folder');
    expect(existsSync(join(served.place.folder, 'a.txt'))).toBe(false);
  });
});

it('keeps a card in its place when the next question arrives, and says so when somebody else has answered', async () => {
  const answer = playTasks({ 'write it down': [note('a.txt', 'a'), note('b.txt', 'b'), { text: 'written' }] });
  await withDashboard(browser(), { answer, config }, async ({ page, served, goto }) => {
    const { runId } = await served.client.start({ task: 'write it down' });
    await goto('/approvals');
    await card(page, 'a.txt').waitFor();
    const [question] = await served.client.questions();
    await served.client.answer(question!.id, { allowed: true });
    await card(page, 'a.txt').getByText('It no longer waits').waitFor();
    await card(page, 'b.txt').getByRole('button', { name: 'Approve once' }).waitFor();
    const order = await page.getByRole('article').allInnerTexts();
    expect(order.map((text) => text.includes('a.txt'))).toEqual([true, false]);
    await clickUntil(page, 'b.txt', 'Approve once', async () => (await card(page, 'b.txt').getByText('Approved.').count()) === 1);
    await expect.poll(async () => (await served.client.outcome(runId))?.summary).toBe('written');
    await page.getByRole('button', { name: 'Clear answered' }).click();
    await page.getByRole('heading', { name: 'Nothing waits for approval' }).waitFor();
  });
});
