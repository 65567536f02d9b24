// A page that is loaded again in the middle of a run, and a server that is killed and started again: the same state, nothing lost, nothing twice.
import { expect, it } from 'vitest';
import { withDashboard } from './support/dashboard.ts';
import { createGate, delegate, playTasks } from './support/play-tasks.ts';
import { markPage, readRows, untilRows } from './support/tree-page.ts';
import { useBrowser } from './support/use-browser.ts';

const browser = useBrowser();
const token = 'a-token-for-tests-with-enough-letters';

function threeParts() {
  const [first, rest] = [createGate(), createGate()];
  const parts = ['one', 'two', 'three'].map((name) => ({ task: `part ${name} of the work`, label: name }));
  const answer = playTasks({
    'all of the work': [delegate(...parts), { text: 'All is done.' }],
    'part one of the work': [{ text: 'One is done.', after: first.opened }],
    'part two of the work': [{ calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'Two is done.', after: rest.opened }],
    'part three of the work': [{ text: 'Three is done.', after: rest.opened }],
  });
  return { first, rest, answer };
}

const middle = { work: 'waiting', one: 'completed', two: 'running', three: 'running' };
const end = { work: 'completed', one: 'completed', two: 'completed', three: 'completed' };

it('shows the same after a reload in the middle of a run, and goes on', async () => {
  const { first, rest, answer } = threeParts();
  await withDashboard(browser(), { answer }, async ({ page, served, goto }) => {
    const { runId } = await served.client.start({ task: 'all of the work', label: 'work' });
    await goto(`/trees/${runId}`);
    await untilRows(page, { work: 'waiting', one: 'running', two: 'running', three: 'running' });
    first.open();
    await untilRows(page, middle);
    await expect.poll(async () => (await readRows(page)).find(({ name }) => name === 'two')?.now).toBe('thinking');
    const before = await readRows(page);
    await page.reload();
    await untilRows(page, middle);
    expect(await readRows(page)).toEqual(before);
    rest.open();
    await untilRows(page, end);
  });
});

it('recovers when the server is killed and started again, and the tree is completed', async () => {
  const { first, rest, answer } = threeParts();
  const options = { answer, tokens: [`${token} start`], allowed: [/net::ERR_/] };
  await withDashboard(browser(), options, async ({ page, served, goto }) => {
    const { runId } = await served.client.start({ task: 'all of the work', label: 'work' });
    await goto(`/trees/${runId}`);
    first.open();
    await untilRows(page, middle);
    const { isSame } = await markPage(page);
    await served.stop('SIGKILL');
    await page.getByText('Connection lost.').waitFor();
    expect(
      (await readRows(page)).map(({ name }) => name),
      'what was shown stays',
    ).toEqual(Object.keys(middle));
    await served.restart();
    await page.getByText('Connection lost.').waitFor({ state: 'detached' });
    await untilRows(page, middle);
    rest.open();
    await untilRows(page, end);
    await page.getByRole('region', { name: 'Outcome' }).getByText('All is done.').waitFor();
    expect(await isSame()).toBe(true);
    const facts = await served.client.facts(runId, { tree: true });
    expect(facts.filter(({ type }) => type === 'run.ended')).toHaveLength(4);
  });
});

it('finds everything again with the new link after a restart', async () => {
  const { first, rest, answer } = threeParts();
  first.open();
  rest.open();
  await withDashboard(browser(), { answer, allowed: [/net::ERR_/, /status of 401/, /status of 503/] }, async ({ page, served, goto }) => {
    const { runId } = await served.client.start({ task: 'all of the work', label: 'work' });
    await goto(`/trees/${runId}`);
    await untilRows(page, end);
    const before = await readRows(page);
    await served.stop('SIGTERM');
    await served.restart();
    await page.goto(served.link);
    await page.getByRole('link', { name: 'work', exact: true }).click();
    await untilRows(page, end);
    expect(await readRows(page)).toEqual(before);
  });
});
