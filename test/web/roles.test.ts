// What a token does not allow: the page offers it with a reason and does nothing, and the server refuses it.
import { expect, it } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { pageKeyHeader, pageKeyName } from '../../src/contract/page-key.ts';
import { withDashboard } from './support/dashboard.ts';
import { sampleOptions, startSample } from './support/sample-tree.ts';
import { findRow } from './support/tree-page.ts';
import { useBrowser } from './support/use-browser.ts';

const browser = useBrowser();
const tokens = { read: 'r'.repeat(32), start: 's'.repeat(32) };

it('a read token sees everything and steers nothing', async () => {
  const options = { ...sampleOptions, tokens: [`${tokens.read} read`, `${tokens.start} start`], allowed: [/status of 403/] };
  await withDashboard(browser(), options, async ({ page, served, goto }) => {
    const { rootId, ids } = await startSample({ ...served, client: createClient({ url: served.url, token: tokens.start }) });
    const orders: string[] = [];
    page.on('request', (request) => void (request.method() !== 'GET' && orders.push(request.url())));
    await goto(`/trees/${rootId}`);
    await findRow(page, 'watch').waitFor();
    for (const name of ['Pause', 'Cancel…']) {
      const button = page.getByRole('button', { name });
      expect(await button.getAttribute('aria-disabled')).toBe('true');
      expect(await button.getAttribute('title')).toMatch(/read only.*needs a token with the role “steer”/);
      await button.click({ force: true });
    }
    await findRow(page, 'watch').getByRole('button', { name: 'Actions for watch' }).click();
    for (const name of [/^Cancel…/, /^Send a message…/, /^Pause/, /^Fork from a turn…/]) {
      expect(await page.getByRole('menuitem', { name }).getAttribute('aria-disabled')).toBe('true');
      await page.getByRole('menuitem', { name }).click({ force: true });
    }
    expect(await page.getByRole('dialog').count()).toBe(0);

    await goto('/approvals');
    const approve = page.getByRole('button', { name: 'Approve once' });
    expect(await approve.getAttribute('aria-disabled')).toBe('true');
    await approve.click({ force: true });
    expect(orders).toEqual([]);

    const send = (path: string, body: object) =>
      page.evaluate<number>(`fetch(${JSON.stringify(path)}, {
        method: 'POST',
        headers: { 'content-type': 'application/json', '${pageKeyHeader}': localStorage.getItem('${pageKeyName}') },
        body: ${JSON.stringify(JSON.stringify(body))},
      }).then(({ status }) => status)`);
    const [question] = await served.client.questions();
    expect(await send(`/api/runs/${ids.watch}/cancel`, {})).toBe(403);
    expect(await send(`/api/questions/${question?.id}`, { allowed: true, hash: question?.hash })).toBe(403);
    expect(await send('/api/runs', { task: 'x' })).toBe(403);
    const { runs } = await served.client.tree(rootId);
    expect(Object.fromEntries(runs.map(({ name, status }) => [name, status]))).toMatchObject({ publish: 'waiting', watch: 'running' });
    await page.getByText('read only').first().waitFor();
  });
});
