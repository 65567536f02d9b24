// Totals of tokens, money and time: the same as those of `retinue ps --all --json`.
import { expect, it } from 'vitest';
import { formatCost, formatCount } from '../../src/views/format.ts';
import { withDashboard } from './support/dashboard.ts';
import { delegate, playTasks } from './support/play-tasks.ts';
import { useBrowser } from './support/use-browser.ts';

const browser = useBrowser();
const usage = { input: 12_345, output: 678, cached: 1_000 };

interface PsRow {
  parentId: string | null;
  tokens: { input: number; output: number };
  costUsd: number;
}

it('shows the totals of `ps --all --json`, by agent and by model, and follows new runs', async () => {
  const answer = playTasks({
    'count everything': [
      { ...delegate({ task: 'count the left', agent: 'explore' }, { task: 'count the right', agent: 'explore' }), usage },
      { text: 'Counted.', usage },
    ],
    'count the left': [{ text: 'one', usage }],
    'count the right': [{ text: 'two', usage }],
    'count again': [{ text: 'three', usage }],
  });
  await withDashboard(browser(), { answer }, async ({ page, served, goto }) => {
    const run = async (task: string) => {
      const { runId } = await served.client.start({ task });
      await expect.poll(async () => (await served.client.outcome(runId))?.status).toBe('completed');
    };
    const readPs = async () => {
      const { out } = await served.place.run('ps', '--all', '--json');
      // A root's figures include those of the runs below it.
      const roots = (JSON.parse(out) as PsRow[]).filter(({ parentId }) => parentId === null);
      const sum = (read: (row: PsRow) => number) => roots.reduce((total, row) => total + read(row), 0);
      return { input: sum(({ tokens }) => tokens.input), output: sum(({ tokens }) => tokens.output), cost: sum(({ costUsd }) => costUsd) };
    };
    const row = (name: string) =>
      page
        .getByRole('table')
        .last()
        .getByRole('row')
        .filter({ has: page.getByRole('rowheader', { name, exact: true }) });
    const readTotal = async () => (await row('Total').getByRole('cell').allInnerTexts()).map((text) => text.trim());

    await run('count everything');
    const first = await readPs();
    expect(first).toMatchObject({ input: 4 * usage.input, output: 4 * usage.output });
    await goto('/costs');
    await row('anthropic/claude-sonnet-4-5').waitFor();
    const cells = async () => {
      const [runs, input, output, , cost] = await readTotal();
      return [runs, input, output, cost];
    };
    expect(await cells()).toEqual(['3', formatCount(first.input), formatCount(first.output), formatCost(first.cost)]);

    await page.getByRole('radio', { name: 'Agent' }).first().check({ force: true });
    await row('explore').waitFor();
    const agents = [await row('explore').getByRole('cell').first().innerText(), await row('general').getByRole('cell').first().innerText()];
    expect(agents.map((text) => text.trim())).toEqual(['2', '1']);

    await run('count again');
    const second = await readPs();
    await expect.poll(cells).toEqual(['4', formatCount(second.input), formatCount(second.output), formatCost(second.cost)]);
  });
});

it('shows the same figures of a live tree in the list, on its page and in the costs', async () => {
  const answer = playTasks({
    'lead the count': [
      { ...delegate({ task: 'count on', label: 'counter', agent: 'explore' }, { task: 'count once', agent: 'plan' }), usage },
    ],
    'count on': [
      { calls: [{ tool: 'list', args: { path: '.' } }], usage },
      { fault: { kind: 'stall', pings: true }, text: 'one two three' },
    ],
    'count once': [{ text: 'one', usage }],
  });
  await withDashboard(browser(), { answer }, async ({ page, served, goto }) => {
    const { runId } = await served.client.start({ task: 'lead the count', label: 'lead' });
    const isReady = async () => {
      const { runs } = await served.client.tree(runId);
      return runs.some(({ name, turn }) => name === 'counter' && turn === 2) && runs.some(({ status }) => status === 'completed');
    };
    await expect.poll(isReady).toBe(true);
    const tokens = formatCount(3 * (usage.input + usage.output));
    await goto('/');
    await expect.poll(() => page.getByRole('row').filter({ hasText: 'lead' }).getByText(tokens).count()).toBe(1);
    await goto(`/trees/${runId}`);
    await page.getByRole('term').filter({ hasText: 'Tokens' }).locator('..').getByText(tokens).waitFor();
    await goto('/costs?by=agent');
    const table = page.getByRole('table').last();
    await table.getByRole('rowheader', { name: 'Total' }).waitFor();
    const input = async (name: string) =>
      (await table.getByRole('row').filter({ hasText: name }).getByRole('cell').nth(1).innerText()).trim();
    const one = formatCount(usage.input);
    expect([await input('explore'), await input('plan'), await input('general')]).toEqual([one, one, one]);
  });
});
