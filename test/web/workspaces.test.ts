// Several workspaces behind one server: the page shows them apart, and each order reaches the right one.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { createPlace } from '../cli/support-process.ts';
import { withDashboard } from './support/dashboard.ts';
import { playTasks } from './support/play-tasks.ts';
import { untilRows } from './support/tree-page.ts';
import { useBrowser } from './support/use-browser.ts';

const browser = useBrowser();

it('shows the runs of another workspace, keeps it in addresses, and cancels a run there', async () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'retinue-home-')));
  using other = createPlace({ runs: [{ times: 'any', steps: [{ hang: 'start' }] }] }, { HOME: home });
  const running = other.start('run', '--label', 'over there', 'wait');
  await other.facts((facts) => facts.some(({ type }) => type === 'model.asked'));
  const answer = playTasks({ 'work here': [{ text: 'done' }] });
  try {
    await withDashboard(browser(), { answer, env: { HOME: home } }, async ({ page, served }) => {
      await served.client.start({ task: 'work here', label: 'here' });
      await page.getByRole('link', { name: 'here', exact: true }).waitFor();
      expect(await page.getByText('over there').count()).toBe(0);
      const picker = page.getByRole('combobox', { name: 'Workspace' });
      await picker.selectOption({ label: `${basename(other.folder)} · 1 live` });
      await page.getByRole('link', { name: 'over there', exact: true }).click();
      expect(page.url()).toMatch(/\/trees\/\w{16}\?workspace=\w+$/);
      await untilRows(page, { 'over there': 'running' });
      await page.reload();
      await untilRows(page, { 'over there': 'running' });
      await page.getByRole('button', { name: 'Cancel…' }).click();
      await page.getByRole('button', { name: 'Cancel run' }).click();
      await untilRows(page, { 'over there': 'cancelled' });
      expect((await running.finished).code).toBe(130);
      await page.getByRole('combobox', { name: 'Workspace' }).selectOption({ index: 0 });
      await page.getByRole('link', { name: 'here', exact: true }).waitFor();
      expect(new URL(page.url()).search).toBe('');
    });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
