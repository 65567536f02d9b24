// The dashboard in a real browser: how old a fact is in the frame that shows it, while 100 runs of a tree are live; and how much script the first page
// loads. Chromium draws without a graphics card here, so the frames of a desktop are faster.
import type { Page } from 'playwright-core';
import { createClient } from '../src/client/client.ts';
import { launchBrowser } from '../test/web/support/launch-browser.ts';
import { percentile, startTree, waitForTree, withServer } from './serve.ts';

export interface PageFigures {
  delay: { median: number; p99: number; facts: number };
  /** Bytes of script that the list of trees loads, compressed. */
  scriptBytes: number;
}

/** Each run writes its turn into its row. The time is that of the frame after the one with the new text, which is surely on the screen. */
const recordTurns = `(() => {
  window.seen = {};
  const read = (row) => row.querySelector('.run-name').textContent + ' ' + Number.parseInt(row.querySelector('.cell-turn').textContent);
  new MutationObserver((changes) => {
    const rows = new Set(changes.flatMap(({ target, addedNodes }) => [target, ...addedNodes])
      .map((node) => (node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement)?.closest('[data-run]')).filter(Boolean));
    const texts = [...rows].map(read);
    requestAnimationFrame(() => { for (const text of texts) window.seen[text] ??= Date.now(); });
  }).observe(document.querySelector('[role=treegrid]'), { subtree: true, childList: true, characterData: true });
})()`;

const readScripts = `performance.getEntriesByType('resource').filter(({ name }) => new URL(name).pathname.endsWith('.js'))
  .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`;

export async function measurePage({ rounds }: { rounds: number }): Promise<PageFigures> {
  await using launched = await launchBrowser();
  return await withServer(async (server) => {
    const page = await launched.browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.goto(server.link);
    await page.getByRole('heading', { level: 1 }).waitFor();
    const scriptBytes = await page.evaluate<number>(readScripts);
    const delays: number[] = [];
    for (let round = 0; round < rounds; round++) delays.push(...(await watchTree(page, server)));
    return { delay: { median: percentile(delays, 0.5), p99: percentile(delays, 0.99), facts: delays.length }, scriptBytes };
  });
}

async function watchTree(page: Page, server: Parameters<typeof startTree>[0]): Promise<number[]> {
  const runId = await startTree(server);
  await page.goto(`${server.url}/trees/${runId}`);
  await page.getByRole('treegrid').waitFor();
  await page.evaluate(recordTurns);
  const began = Date.now();
  await waitForTree(server, runId);
  const seen = await page.evaluate<Record<string, number>>('window.seen');
  const client = createClient({ url: server.url, token: server.token });
  const facts = await client.facts(runId, { tree: true });
  const names = new Map(
    facts.flatMap((fact) => (!('erased' in fact) && fact.type === 'run.created' ? [[fact.runId, fact.data.brief.label ?? '']] : [])),
  );
  return facts.flatMap((fact) => {
    if ('erased' in fact || fact.type !== 'model.asked' || Date.parse(fact.at) < began) return [];
    const at = seen[`${names.get(fact.runId)} ${fact.data.turn}`];
    return at === undefined ? [] : [at - Date.parse(fact.at)];
  });
}
