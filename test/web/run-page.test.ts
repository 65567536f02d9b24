// The page of a run: its conversation with calls, results and changes, streaming text, and the tabs about it.
import { expect, it } from 'vitest';
import { withDashboard } from './support/dashboard.ts';
import { createGate, playTasks } from './support/play-tasks.ts';
import { sampleOptions, startSample } from './support/sample-tree.ts';
import { markPage } from './support/tree-page.ts';
import { useBrowser } from './support/use-browser.ts';

const browser = useBrowser();

it('shows text before the answer is complete, and the whole answer once', async () => {
  const words = Array.from({ length: 80 }, (_, n) => `word${n + 1}`).join(' ');
  const [isOpen, isLive] = [createGate(), createGate()];
  const look = { calls: [{ tool: 'list', args: { path: '.' } }] };
  const answer = playTasks({
    'write slowly': [{ text: words, chunkSize: 16, chunkDelayMs: 50 }],
    // Text is streamed from the first model call on that begins after a page has connected.
    'never stop': [
      { ...look, after: isOpen.opened },
      { ...look, after: isLive.opened },
      { text: `${words} end`, chunkDelayMs: 250, fault: { kind: 'stall', pings: true } },
    ],
  });
  await withDashboard(browser(), { answer }, async ({ page, served, goto }) => {
    const stalled = await served.client.start({ task: 'never stop' });
    await goto(`/runs/${stalled.runId}`);
    await page.getByRole('region', { name: 'Turn 1, in progress' }).waitFor();
    isOpen.open();
    await page.getByRole('region', { name: 'Turn 2, in progress' }).waitFor();
    isLive.open();
    await page.getByText('word40').waitFor();
    const types = (await served.client.facts(stalled.runId)).map(({ type }) => type);
    expect(types.filter((type) => type === 'model.answered').length, 'there is no third answer yet').toBe(2);
    expect(await page.getByText('word80').count()).toBe(0);

    const slow = await served.client.start({ task: 'write slowly' });
    await goto(`/runs/${slow.runId}`);
    const { isSame } = await markPage(page);
    await page.getByRole('region', { name: 'Turn 1' }).getByText('word80').waitFor();
    await page.getByRole('region', { name: 'Outcome' }).waitFor();
    expect(await page.getByRole('region', { name: 'Turn 1' }).count(), 'the streamed text is replaced').toBe(1);
    const shown = await page.getByRole('region', { name: 'Turn 1' }).innerText();
    expect(shown.match(/word\d+/g)).toEqual(words.split(' '));
    expect(await isSame()).toBe(true);
  });
});

it('shows calls with arguments and results, changes, artifacts, log, costs and the brief', async () => {
  await withDashboard(browser(), sampleOptions, async ({ page, served, goto }) => {
    const { ids } = await startSample(served);
    await goto(`/runs/${ids.greeting}`);
    const call = page.getByRole('region', { name: /^Call 2\.0: edit/ });
    await call.getByText("+export const greeting = 'Good morning';").waitFor();
    await call.getByText("-export const greeting = 'Hello';").waitFor();
    const read = page.getByRole('region', { name: /^Call 1\.0: read/ });
    await read.getByRole('button', { expanded: false }).click();
    await read.getByText("export const greeting = 'Hello';").waitFor();
    await page.getByRole('button', { name: /Reasoning/ }).click();
    await page.getByText('The file has to be read first.').last().waitFor();
    await page.getByRole('region', { name: 'Turn 3' }).locator('li').getByText('one file').waitFor();
    await page.getByRole('region', { name: 'Outcome' }).getByText('Completed').waitFor();

    const tab = (name: string) => page.getByRole('navigation', { name: 'About this run' }).or(page.getByRole('tablist')).getByText(name);
    await tab('Changes').click();
    await page.getByText('src/greet.ts').first().waitFor();
    await page.getByText("+export const greeting = 'Good morning';").waitFor();
    await tab('Artifacts').click();
    await page.getByText('src/greet.ts').first().waitFor();
    await tab('Log').click();
    for (const type of ['run.created', 'tool.finished', 'run.ended']) await page.locator('code', { hasText: type }).first().waitFor();
    await tab('Cost').click();
    await page.getByRole('rowheader', { name: '3', exact: true }).waitFor();
    await tab('Brief and grant').click();
    await page.getByText('The greeting is shown in the morning.').waitFor();

    await goto(`/runs/${ids.licence}`);
    await page.getByRole('region', { name: 'Outcome' }).getByText('the prompt is too long').waitFor();
    await page.keyboard.press('[');
    await page.waitForURL(`**/runs/${ids.watch}`);
    await page.getByText('The build').first().waitFor();
    await page.keyboard.press('u');
    await page.waitForURL(`**/runs/${ids.project}`);
    await page
      .getByRole('region', { name: /^Call 1\.0: delegate/ })
      .getByRole('link', { name: 'licence' })
      .waitFor();
  });
});
