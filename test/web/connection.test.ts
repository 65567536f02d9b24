// What a page does while its server is away: it says so, and continues without a reload.
import { expect, it } from 'vitest';
import { withDashboard } from './support/dashboard.ts';
import { useBrowser } from './support/use-browser.ts';

const browser = useBrowser();
const token = 'a-token-for-tests-with-enough-letters';
/** What the browser itself writes about a connection that does not work. */
const lost = [/net::ERR_/, /status of 401/];

it('says that the connection is lost, and that it works again', async () => {
  await withDashboard(browser(), { tokens: [`${token} start`], allowed: lost }, async ({ page, served }) => {
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.evaluate('window.isSamePage = true');
    await served.stop('SIGKILL');
    const banner = page.getByText('Connection lost.');
    await banner.waitFor();
    await served.restart();
    await banner.waitFor({ state: 'detached' });
    expect(await page.evaluate('window.isSamePage'), 'not loaded again').toBe(true);
  });
});

it('asks for the new link when the server has another token, and continues once it was opened in another tab', async () => {
  await withDashboard(browser(), { allowed: lost }, async ({ page, context, served }) => {
    await page.getByRole('heading', { level: 1 }).waitFor();
    await served.stop('SIGKILL');
    await served.restart();
    await page.getByRole('heading', { name: 'This browser has no valid session' }).waitFor();
    const other = await context.newPage();
    await other.goto(served.link);
    await other.getByRole('navigation', { name: 'Main' }).waitFor();
    await other.close();
    await page.bringToFront();
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
  });
});

it('says what to open without a link', async () => {
  await withDashboard(browser(), { allowed: lost }, async ({ page, context, goto }) => {
    await page.getByRole('heading', { level: 1 }).waitFor();
    await context.clearCookies();
    await goto('/');
    await page.getByRole('heading', { name: 'This browser has no valid session' }).waitFor();
    await page.getByText('retinue serve').first().waitFor();
  });
});
