// Text of models, files, tools and users is text in every field of every page: it runs no code, loads nothing and hides nothing.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { type Dashboard, withDashboard } from './support/dashboard.ts';
import { corpus, createHostile, hostile, hostileFolder, hostileShort } from './support/hostile.ts';
import { inspectPage } from './support/inspect-page.ts';
import { createGate } from './support/play-tasks.ts';
import { useBrowser } from './support/use-browser.ts';

const browser = useBrowser();

/** Fields whose text must have been seen on some page, so that the test does not pass because nothing was shown. */
const shownFields = [
  ...['label', 'task', 'context', 'root text', 'text', 'reasoning', 'file', 'diff', 'content', 'argument', 'key', 'value', 'summary'],
  ...['error', 'streamed', 'streamed reasoning', 'message', 'reason', 'agent'],
];

interface HostileTree {
  rootId: string;
  ids: Record<string, string>;
  /** Another workspace, and a run there. */
  workspace: string;
  cancelled: string;
}

async function startHostileTree({ served }: Dashboard): Promise<HostileTree> {
  const { client, place } = served;
  const { runId } = await client.start({
    task: `task-root ${hostile('task')}`,
    label: hostileShort('label', 0),
    context: hostile('context'),
  });
  const wanted: Record<string, string> = { tools: 'completed', asks: 'waiting', fails: 'failed', streams: 'running' };
  const read = async () => (await client.tree(runId)).runs.filter(({ name }) => wanted[name] !== undefined);
  await expect.poll(async () => Object.fromEntries((await read()).map(({ name, status }) => [name, status]))).toEqual(wanted);
  const ids = Object.fromEntries((await read()).map(({ name, id }) => [name, id]));
  await client.message(ids.streams as string, { text: hostile('message') });
  // A workspace whose folder has such a name, and a run there that was cancelled with such a reason.
  const folder = join(place.folder, hostileFolder);
  mkdirSync(folder);
  writeFileSync(join(folder, 'script.json'), JSON.stringify({ runs: [{ steps: [{ hang: 'start' }] }] }));
  const other = place.start('run', '-C', folder, '--model', 'script/script.json', '--label', 'other', 'wait');
  await expect.poll(async () => (await client.workspaces()).find(({ path }) => path === folder)?.live).toBe(1);
  const workspace = (await client.workspaces()).find(({ path }) => path === folder)?.id as string;
  const there = createClient({ url: served.url, token: served.token, workspace });
  const [waiting] = await there.runs();
  await there.cancel(waiting?.runId as string, { reason: hostile('reason') });
  await other.finished;
  return { rootId: runId, ids, workspace, cancelled: waiting?.runId as string };
}

it('shows hostile text as text in every field of every page', async () => {
  const streams = createGate();
  await withDashboard(browser(), createHostile(streams.opened), async (dashboard) => {
    const { page, goto } = dashboard;
    const { rootId, ids, workspace, cancelled } = await startHostileTree(dashboard);
    const tabs = ['', '?tab=changes', '?tab=artifacts', '?tab=log', '?tab=cost', '?tab=brief'];
    const runs = [rootId, ...Object.values(ids)].flatMap((id) => tabs.map((tab) => `/runs/${id}${tab}`));
    const query = encodeURIComponent(corpus[0] as string);
    const others = ['/', `/trees/${rootId}`, `/trees/${rootId}/timeline`, '/approvals', '/costs', `/search?q=${query}`, '/start'];
    const foreign = [
      `/?workspace=${workspace}`,
      `/runs/${cancelled}?workspace=${workspace}`,
      `/runs/${cancelled}?tab=log&workspace=${workspace}`,
    ];
    const found: Record<string, string[]> = {};
    let text = '';
    await goto(`/runs/${ids.streams}`);
    await page.getByRole('region', { name: 'Turn 1, in progress' }).waitFor();
    streams.open();
    await page.getByText('streamed: ').first().waitFor();
    for (const path of [`/runs/${ids.streams}`, ...others, ...runs, ...foreign]) {
      if (!page.url().endsWith(path)) await goto(path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await expect.poll(() => page.getByText('Loading', { exact: false }).filter({ visible: true }).count()).toBe(0);
      // The description of an agent is shown when it is chosen.
      if (path === '/start') await page.getByLabel('Agent', { exact: true }).selectOption('own');
      const inspection = await inspectPage(page);
      if (inspection.suspicious.length > 0) found[path] = inspection.suspicious;
      text += inspection.text;
    }
    expect(found).toEqual({});
    const isShown = (field: string) => text.includes(`${field}: ${corpus[0]}`);
    expect(
      shownFields.filter((field) => !isShown(field)),
      'fields that no page shows',
    ).toEqual([]);
    for (const part of [hostileFolder, 'question']) expect(text).toContain(part);
  });
});
