// A real run while somebody watches: children appear and change without a reload.
import { expect, it } from 'vitest';
import { withDashboard } from './support/dashboard.ts';
import { createGate, delegate, playTasks } from './support/play-tasks.ts';
import { findRow, markPage, readRows, untilRows } from './support/tree-page.ts';
import { useBrowser } from './support/use-browser.ts';

const browser = useBrowser();

it('shows a new tree in the list, its children as they appear, and how each ends', async () => {
  const [delegates, looks, ends] = [createGate(), createGate(), createGate()];
  const answer = playTasks({
    'survey the project': [
      {
        ...delegate({ task: 'read the tests', label: 'tests', agent: 'explore' }, { task: 'read the docs', label: 'docs' }),
        after: delegates.opened,
      },
      { text: 'The **survey** is complete.', after: ends.opened },
    ],
    'read the tests': [
      { calls: [{ tool: 'grep', args: { pattern: 'describe', path: '.' } }], after: looks.opened },
      { text: 'There are three tests.', after: ends.opened },
    ],
    'read the docs': [{ fault: { kind: 'status', status: 400, message: 'the prompt is too long' }, after: looks.opened }],
  });
  await withDashboard(browser(), { answer }, async ({ page, served }) => {
    await page.getByRole('heading', { name: 'No runs yet' }).waitFor();
    const { isSame } = await markPage(page);
    const { runId } = await served.client.start({ task: 'survey the project', label: 'survey' });
    await page.getByRole('link', { name: 'survey', exact: true }).click();
    expect(new URL(page.url()).pathname).toBe(`/trees/${runId}`);
    await untilRows(page, { survey: 'running' });

    delegates.open();
    await untilRows(page, { survey: 'waiting', tests: 'running', docs: 'running' });
    expect((await readRows(page))[0]?.now).toBe('delegate ×2, 2 children open');

    looks.open();
    await untilRows(page, { survey: 'waiting', tests: 'running', docs: 'failed' });
    await findRow(page, 'docs').getByText('the prompt is too long').waitFor();
    await expect.poll(() => findRow(page, 'tests').getByText('2/40').count()).toBe(1);

    ends.open();
    await untilRows(page, { survey: 'completed', tests: 'completed', docs: 'failed' });
    const outcome = page.getByRole('region', { name: 'Outcome' });
    await outcome.getByText('The survey is complete.').waitFor();
    expect(await outcome.locator('strong').textContent()).toBe('survey');
    expect(await isSame()).toBe(true);

    await page.getByRole('link', { name: 'Trees', exact: true }).first().click();
    const listed = page.getByRole('row').filter({ hasText: 'survey' });
    await listed.getByText('completed').waitFor();
    expect(await isSame()).toBe(true);
  });
});

it('shows runs of another process, and that one was killed', async () => {
  const answer = playTasks({ 'work elsewhere': [{ fault: { kind: 'no-first-byte' } }] });
  await withDashboard(browser(), { answer }, async ({ page, served }) => {
    await page.getByRole('heading', { name: 'No runs yet' }).waitFor();
    const run = served.place.start('run', '--label', 'elsewhere', 'work elsewhere');
    await page.getByRole('link', { name: 'elsewhere', exact: true }).click();
    await untilRows(page, { elsewhere: 'running' });
    await expect.poll(() => served.provider.requests.length).toBe(1);
    run.process.kill('SIGKILL');
    // The server continues a tree whose process died.
    await expect.poll(() => served.provider.requests.length).toBe(2);
    await untilRows(page, { elsewhere: 'running' });
  });
});
