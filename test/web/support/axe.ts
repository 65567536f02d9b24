// Checks a page with axe-core.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface AxeResults {
  passes: unknown[];
  violations: { id: string; impact: string; help: string; nodes: { target: unknown[]; failureSummary: string }[] }[];
}

/** Serious and critical findings of all rules or of some, one line for each element. Throws if axe-core checked nothing. */
export async function findBarriers(page: Page, rules?: string[]): Promise<string[]> {
  await page.evaluate(source);
  const results = await page.evaluate<AxeResults>(`axe.run(document, ${JSON.stringify(rules ? { runOnly: rules } : {})})`);
  if (results.passes.length === 0 && results.violations.length === 0) throw new Error('axe-core checked nothing');
  return results.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary.replace(/\s+/g, ' ')}`),
    );
}

/** How far the page can be scrolled sideways, in pixels. */
export function sidewaysScroll(page: Page): Promise<number> {
  return page.evaluate<number>('document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth');
}
