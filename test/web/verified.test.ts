// The outcome on the page of a run, its title and its row in the tree: verified, not verified or only claimed, with each check.
import { expect, it } from 'vitest';
import { withDashboard } from './support/dashboard.ts';
import { playTasks } from './support/play-tasks.ts';
import { useBrowser } from './support/use-browser.ts';

const browser = useBrowser();
const answer = playTasks({ 'make it': [{ text: 'It is made.' }], 'break it': [{ text: 'It is broken.' }], 'say it': [{ text: 'I say.' }] });

it('shows whether a run is verified, and what has checked it', async () => {
  await withDashboard(browser(), { answer, config: { rules: ['allow bash'] } }, async ({ page, served, goto }) => {
    const open = async (brief: object) => {
      const { runId } = await served.client.start({ maxCheckRounds: 1, ...brief } as never);
      await goto(`/runs/${runId}`);
      const outcome = page.getByRole('region', { name: 'Outcome' });
      await outcome.waitFor();
      return outcome;
    };
    const made = await open({ task: 'make it', checks: [{ command: 'true' }, { command: 'test -d .' }] });
    await made.getByText('verified', { exact: true }).waitFor();
    await page.getByRole('heading', { level: 1 }).getByText('verified', { exact: true }).waitFor();
    expect(await made.getByRole('list', { name: 'Checks' }).getByRole('listitem').allInnerTexts()).toEqual([
      expect.stringMatching(/^passed\s+true$/),
      expect.stringMatching(/^passed\s+test -d \.$/),
    ]);
    const broken = await open({ task: 'break it', checks: [{ command: 'false' }] });
    await broken.getByText('not verified', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Tree', exact: true }).click();
    await page
      .getByRole('row')
      .getByText(/^failed, not verified: an acceptance check failed/)
      .waitFor();
    const said = await open({ task: 'say it' });
    await said.getByText('claimed', { exact: true }).waitFor();
    expect(await said.getByRole('list', { name: 'Checks' }).count()).toBe(0);
  });
});
