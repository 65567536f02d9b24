// What a user sees and does on the page of a tree.
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

export interface ShownRow {
  name: string;
  status: string;
  /** What it does now. */
  now: string;
}

export function findRow(page: Page, name: string): Locator {
  return page
    .getByRole('treegrid')
    .getByRole('row')
    .filter({ has: page.getByRole('link', { name, exact: true }) });
}

/** The rows that are in the document, in their order on the screen. */
export function readRows(page: Page): Promise<ShownRow[]> {
  return page.evaluate<ShownRow[]>(`[...document.querySelectorAll('[role=treegrid] [data-run]')]
    .sort((a, b) => a.ariaRowIndex - b.ariaRowIndex)
    .map((row) => ({
      name: row.querySelector('.run-name').textContent,
      status: row.querySelector('.status').title,
      now: row.querySelector('.cell-now').textContent,
    }))`);
}

/** Waits until the rows have these states, in this order, and none is there twice. */
export async function untilRows(page: Page, wanted: Record<string, string>): Promise<void> {
  const read = async () => (await readRows(page)).map(({ name, status }) => [name, status]);
  await expect.poll(read).toEqual(Object.entries(wanted));
}

/** Chooses an action from the menu of a row. */
export async function chooseAction(page: Page, name: string, action: string | RegExp): Promise<void> {
  await findRow(page, name)
    .getByRole('button', { name: `Actions for ${name}` })
    .click();
  await page.getByRole('menuitem', { name: action }).click();
}

/** Marks the page, so that a test can tell that it was not loaded again. */
export async function markPage(page: Page): Promise<{ isSame(): Promise<boolean> }> {
  await page.evaluate('window.isSamePage = true');
  return { isSame: async () => (await page.evaluate('window.isSamePage')) === true };
}
