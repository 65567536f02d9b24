// Starting a run from the page.
import { expect, it } from 'vitest';
import { withDashboard } from './support/dashboard.ts';
import { playTasks } from './support/play-tasks.ts';
import { untilRows } from './support/tree-page.ts';
import { useBrowser } from './support/use-browser.ts';

const browser = useBrowser();

it('starts a run with agent, context, files, limits and fewer tools, and shows its tree', async () => {
  const answer = playTasks({ 'sum it up': [{ text: 'It is short.' }] });
  const files = { 'notes.md': 'the notes of today\n' };
  await withDashboard(browser(), { answer, files }, async ({ page, served }) => {
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Start a run' }).click();
    await page.getByLabel('Task', { exact: true }).fill('sum it up');
    await page.getByLabel('Agent', { exact: true }).selectOption('explore');
    await page.getByText('Context and files').click();
    await page.getByLabel('Context', { exact: true }).fill('for the <b>board</b>');
    await page.getByLabel('Files', { exact: true }).fill('notes.md');
    await page.getByLabel('Label', { exact: true }).fill('summary');
    await page.getByText('Limits', { exact: true }).click();
    await page.getByLabel('Turns', { exact: true }).fill('3');
    await page.getByRole('checkbox', { name: /^grep/ }).uncheck();
    await page.getByRole('button', { name: 'Start the run' }).click();
    await page.waitForURL('**/trees/*');
    await untilRows(page, { summary: 'completed' });
    await page.getByRole('region', { name: 'Outcome' }).getByText('It is short.').waitFor();

    const { body } = served.provider.requests[0]!;
    const sent = JSON.stringify(body);
    expect(sent).toContain('for the <b>board</b>');
    expect(sent).toContain('the notes of today');
    const tools = (body.tools as { name: string }[]).map(({ name }) => name);
    expect(tools).toContain('read');
    expect(tools).not.toContain('grep');
    const run = await served.client.run('last');
    expect(run).toMatchObject({ agent: 'explore', label: 'summary', grant: { limits: { maxTurns: { value: 3 } } } });
  });
});

it('says at the field what is wrong, and starts nothing', async () => {
  await withDashboard(browser(), { allowed: [/status of 400/] }, async ({ page, served, goto }) => {
    await goto('/start');
    await page.getByRole('button', { name: 'Start the run' }).click();
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('task');
    expect(await page.getByLabel('Task', { exact: true }).getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('Task', { exact: true }).fill('do it');
    await page.getByLabel('Model', { exact: true }).fill('no/such-model');
    await page.getByRole('button', { name: 'Start the run' }).click();
    await expect.poll(() => page.getByLabel('Model', { exact: true }).getAttribute('aria-invalid')).toBe('true');
    expect(await served.client.runs({ all: true })).toEqual([]);
    // What was typed survives a reload.
    await page.reload();
    await expect.poll(() => page.getByLabel('Task', { exact: true }).inputValue()).toBe('do it');
  });
});
