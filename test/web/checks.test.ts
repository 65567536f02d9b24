// Fork from a turn, verify and replay, with what they say.
import { expect, it } from 'vitest';
import { withDashboard } from './support/dashboard.ts';
import { playTasks } from './support/play-tasks.ts';
import { useBrowser } from './support/use-browser.ts';

const browser = useBrowser();
const answer = playTasks({
  'name the files': [
    { text: 'First I look.', calls: [{ tool: 'list', args: { path: '.' } }] },
    { text: 'They are a and b.' },
    { text: 'They are c and d.' },
  ],
});

it('forks from a turn: the new run has the conversation up to there and the new instruction', async () => {
  await withDashboard(browser(), { answer }, async ({ page, served, goto }) => {
    const { runId } = await served.client.start({ task: 'name the files' });
    await goto(`/runs/${runId}`);
    await page.getByRole('region', { name: 'Outcome' }).waitFor();
    await page.getByRole('button', { name: 'Fork from turn 1' }).click();
    const dialog = page.getByRole('dialog', { name: 'Fork from a turn' });
    expect(await dialog.getByLabel('After turn').inputValue()).toBe('1');
    await dialog.getByLabel('Instruction').fill('only the hidden ones');
    await dialog.getByRole('button', { name: 'Start the fork' }).click();
    await page.waitForURL((url) => url.pathname.startsWith('/runs/') && !url.pathname.includes(runId));
    await page.getByRole('region', { name: 'Outcome' }).waitFor();
    const { messages } = served.provider.requests.at(-1)!.body as { messages: { role: string }[] };
    expect(
      messages.filter(({ role }) => role === 'assistant'),
      'the answers of turn 1',
    ).toHaveLength(1);
    expect(JSON.stringify(messages)).toContain('only the hidden ones');
    expect(JSON.stringify(messages)).not.toContain('They are a and b.');
  });
});

it('verifies and replays a run, and says what was checked', async () => {
  await withDashboard(browser(), { answer }, async ({ page, served, goto }) => {
    const { runId } = await served.client.start({ task: 'name the files' });
    await goto(`/runs/${runId}`);
    await page.getByRole('region', { name: 'Outcome' }).waitFor();
    const facts = (await served.client.facts(runId)).length;
    const check = async (item: string, verdict: string) => {
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name: item }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText(verdict).waitFor();
      const text = await dialog.innerText();
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      return text;
    };
    expect(await check('Verify the log…', 'The log is complete and unchanged')).toContain(`${facts} records of 1 run`);
    expect(await check('Replay the decisions…', 'The replay is identical')).toContain('2 model requests with the same hash as recorded');
    expect(served.provider.requests, 'no model was called').toHaveLength(2);
  });
});

it('says what is wrong with a log that was changed', async () => {
  await withDashboard(browser(), { answer }, async ({ page, served, goto }) => {
    const { runId } = await served.client.start({ task: 'name the files' });
    await expect.poll(async () => (await served.client.outcome(runId))?.status).toBe('completed');
    const { DatabaseSync } = await import('node:sqlite');
    const db = new DatabaseSync(`${served.place.folder}/.retinue/retinue.db`);
    const { changes } = db.prepare("UPDATE facts SET data = replace(data, 'a and b', 'x and y') WHERE data LIKE '%a and b%'").run();
    db.close();
    expect(changes).toBeGreaterThan(0);
    await goto(`/runs/${runId}`);
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Verify the log…' }).click();
    await page.getByRole('dialog').getByText('The log was changed or is incomplete').waitFor();
  });
});
