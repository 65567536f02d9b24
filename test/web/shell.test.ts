// The frame around all pages: opening the link, navigation, keys, themes and addresses that do not exist.
import { expect, it } from 'vitest';
import { withDashboard } from './support/dashboard.ts';
import { useBrowser } from './support/use-browser.ts';

const browser = useBrowser();
const pages = ['Trees', 'Approvals', 'Costs', 'Search', 'Start a run'];

it('opens with the printed link and keeps the token out of the address', async () => {
  await withDashboard(browser(), {}, async ({ page, context, goto }) => {
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
    expect(page.url()).not.toContain('token');
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
    expect(await page.evaluate('document.cookie')).toBe('');
    await goto('/costs');
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
  });
});

it('stores the key of the link before the page can be left', async () => {
  await withDashboard(browser(), {}, async ({ served, page }) => {
    const stored = "localStorage.getItem('retinue-page-key')";
    const before = await page.evaluate(stored);
    await page.addInitScript(`addEventListener('DOMContentLoaded', () => { globalThis.atFirst = ${stored}; });`);
    // Each time it is opened, the link brings another key.
    await page.goto(served.link);
    const after = await page.evaluate('globalThis.atFirst');
    expect(after).toMatch(/^[\w-]+$/);
    expect(after).not.toBe(before);
  });
});

it('shows each page by its link and by its keys, and goes back', async () => {
  await withDashboard(browser(), {}, async ({ page }) => {
    const current = page.getByRole('navigation', { name: 'Main' }).locator('[aria-current=page]');
    for (const name of pages.toReversed()) {
      await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true }).click();
      expect(await current.textContent()).toBe(name);
      await page.getByRole('heading', { level: 1 }).waitFor();
    }
    for (const [keys, name] of Object.entries({ a: 'Approvals', c: 'Costs', s: 'Search', n: 'Start a run', t: 'Trees' })) {
      await page.locator('main').focus();
      await page.keyboard.press('g');
      await page.keyboard.press(keys);
      await expect.poll(() => current.textContent()).toBe(name);
    }
    await page.goBack();
    await expect.poll(() => current.textContent()).toBe('Start a run');
  });
});

it('lists its keys in a dialog that Escape closes', async () => {
  await withDashboard(browser(), {}, async ({ page }) => {
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('?');
    const dialog = page.getByRole('dialog', { name: 'Keyboard' });
    await dialog.getByText('start a run').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });
});

it('follows the theme of the system and keeps a chosen one', async () => {
  await withDashboard(browser(), { context: { colorScheme: 'dark' } }, async ({ page }) => {
    const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    await page.getByRole('heading', { level: 1 }).waitFor();
    const dark = await background();
    await page.emulateMedia({ colorScheme: 'light' });
    const light = await background();
    expect(light).not.toBe(dark);
    await page.getByTitle('Dark').click();
    expect(await background()).toBe(dark);
    await page.reload();
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await background()).toBe(dark);
  });
});

it('says what to do at an address that does not exist, and for a run that does not exist', async () => {
  await withDashboard(browser(), { allowed: [/status of 404/] }, async ({ page, goto }) => {
    await goto('/nowhere');
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    await page.getByRole('link', { name: 'Go to the list of trees' }).click();
    await page.getByRole('heading', { name: 'Trees' }).waitFor();
    for (const path of ['/runs/0123456789abcdef', '/trees/0123456789abcdef', '/trees/0123456789abcdef/timeline']) {
      await goto(path);
      const alert = page.getByRole('alert').filter({ hasText: 'Not found' });
      await alert.getByRole('button', { name: 'Try again' }).waitFor();
    }
  });
});
