// Orders from the page: cancel, message, pause and continue. What the runs do afterwards is checked at the provider and in the log.
import { expect, it } from 'vitest';
import { type DashboardOptions, withDashboard } from './support/dashboard.ts';
import { createGate, delegate, playTasks, readResults } from './support/play-tasks.ts';
import { chooseAction, untilRows } from './support/tree-page.ts';
import { useBrowser } from './support/use-browser.ts';

const browser = useBrowser();

function twoChildren() {
  const ends = createGate();
  const answer = playTasks({
    'do both': [
      delegate({ task: 'the first part', label: 'first' }, { task: 'the second part', label: 'second' }),
      { text: 'Both are done.' },
    ],
    'the first part': [{ fault: { kind: 'no-first-byte' } }],
    'the second part': [{ text: 'Second is done.', after: ends.opened }],
  });
  return { ends, options: { answer } satisfies DashboardOptions };
}

it('cancels one child; its sibling goes on, and the parent reads what happened', async () => {
  const { ends, options } = twoChildren();
  await withDashboard(browser(), options, async ({ page, served, goto }) => {
    const { runId } = await served.client.start({ task: 'do both', label: 'both' });
    await goto(`/trees/${runId}`);
    await untilRows(page, { both: 'waiting', first: 'running', second: 'running' });
    await expect.poll(() => served.provider.requests.length).toBe(3);

    await chooseAction(page, 'first', 'Cancel…');
    const dialog = page.getByRole('dialog', { name: 'Cancel this run?' });
    await dialog.getByLabel('Reason').fill('not needed');
    await dialog.getByRole('button', { name: 'Cancel run' }).click();
    await untilRows(page, { both: 'waiting', first: 'cancelled', second: 'running' });
    await expect.poll(() => served.provider.requests.filter(({ aborted }) => aborted).length).toBe(1);
    const facts = await served.client.facts(runId, { tree: true });
    expect(facts.find(({ type }) => type === 'cancel.asked')).toMatchObject({ data: { reason: expect.stringContaining('not needed') } });

    ends.open();
    await untilRows(page, { both: 'completed', first: 'cancelled', second: 'completed' });
    expect(readResults(served.provider.requests.at(-1)!).join()).toMatch(/cancelled.*not needed/s);
  });
});

it('cancels a whole tree after it has named the runs that end', async () => {
  const { options } = twoChildren();
  await withDashboard(browser(), options, async ({ page, served, goto }) => {
    const { runId } = await served.client.start({ task: 'do both', label: 'both' });
    await goto(`/trees/${runId}`);
    await untilRows(page, { both: 'waiting', first: 'running', second: 'running' });
    await page.getByRole('button', { name: 'Cancel…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel this run and those below it?' });
    await dialog.getByText('This also ends first, second').waitFor();
    await dialog.getByRole('button', { name: 'Keep it running' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Cancel…' }).click();
    await dialog.getByRole('button', { name: 'Cancel 3 runs' }).click();
    await untilRows(page, { both: 'cancelled', first: 'cancelled', second: 'cancelled' });
  });
});

it('sends a message, which the run reads before its next turn', async () => {
  const looks = createGate();
  const answer = playTasks({
    'look around': [{ calls: [{ tool: 'list', args: { path: '.' } }], after: looks.opened }, { text: 'I have seen it.' }],
  });
  await withDashboard(browser(), { answer }, async ({ page, served, goto }) => {
    const { runId } = await served.client.start({ task: 'look around', label: 'looker' });
    await goto(`/trees/${runId}`);
    await untilRows(page, { looker: 'running' });
    await chooseAction(page, 'looker', 'Send a message…');
    const dialog = page.getByRole('dialog', { name: 'Send a message' });
    await dialog.getByLabel('Message').fill('also look at <the> "hidden" files');
    await dialog.getByRole('button', { name: 'Send', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    looks.open();
    await untilRows(page, { looker: 'completed' });
    expect(JSON.stringify(served.provider.requests.at(-1)?.body.messages)).toContain('also look at <the> \\"hidden\\" files');
  });
});

it('answers a follow-up question to an ended run in a new one', async () => {
  const answer = playTasks({ 'count the files': [{ text: 'There are two.' }, { text: 'Their names are a and b.' }] });
  await withDashboard(browser(), { answer }, async ({ page, served, goto }) => {
    const { runId } = await served.client.start({ task: 'count the files', label: 'counter' });
    await goto(`/trees/${runId}`);
    await untilRows(page, { counter: 'completed' });
    await chooseAction(page, 'counter', 'Ask a follow-up…');
    const dialog = page.getByRole('dialog', { name: 'Ask a follow-up question' });
    await dialog.getByLabel('Message').fill('What are their names?');
    await dialog.getByRole('button', { name: 'Start follow-up' }).click();
    await page.waitForURL((url) => url.pathname.startsWith('/runs/') && !url.pathname.includes(runId));
    const followUp = page.url().split('/').at(-1) as string;
    await expect.poll(async () => (await served.client.outcome(followUp))?.summary).toBe('Their names are a and b.');
  });
});

it('compacts the conversation of a live run from its page', async () => {
  const [looks, ends] = [createGate(), createGate()];
  const look = (path: string) => ({ calls: [{ tool: 'list', args: { path } }] });
  const answer = playTasks({
    'look often': [
      look('.'),
      { ...look('./.'), after: looks.opened },
      { text: 'The summary.' },
      { text: 'I have seen it.', after: ends.opened },
    ],
  });
  await withDashboard(browser(), { answer }, async ({ page, served, goto }) => {
    const { runId } = await served.client.start({ task: 'look often', label: 'looker' });
    await expect.poll(() => served.provider.requests.length).toBe(2);
    await goto(`/runs/${runId}`);
    await page.getByRole('button', { name: 'Compact' }).click();
    await page.getByText('replaces its conversation by a summary before its next turn').waitFor();
    looks.open();
    const asked = async () =>
      (await served.client.facts(runId)).some((fact) => fact.type === 'model.asked' && 'data' in fact && fact.data.purpose === 'compact');
    await expect.poll(asked).toBe(true);
    await served.client.cancel(runId);
    ends.open();
  });
});

it('pauses a tree and continues it', async () => {
  const [looks, ends] = [createGate(), createGate()];
  const answer = playTasks({
    'take your time': [
      { calls: [{ tool: 'list', args: { path: '.' } }], after: looks.opened },
      { text: 'done', after: ends.opened },
    ],
  });
  await withDashboard(browser(), { answer }, async ({ page, served, goto }) => {
    const { runId } = await served.client.start({ task: 'take your time', label: 'slow' });
    await goto(`/trees/${runId}`);
    await untilRows(page, { slow: 'running' });
    await page.getByRole('button', { name: 'Pause' }).click();
    // A pause waits for the model call that is going on.
    looks.open();
    await untilRows(page, { slow: 'paused' });
    await page.getByRole('button', { name: 'Continue' }).click();
    await untilRows(page, { slow: 'running' });
    ends.open();
    await untilRows(page, { slow: 'completed' });
    const types = (await served.client.facts(runId)).map(({ type }) => type);
    expect(types.filter((type) => type === 'run.paused' || type === 'run.resumed')).toEqual(['run.paused', 'run.resumed']);
  });
});
