// `npm run shots`: makes the pictures of the README in docs/images: the dashboard and the terminal screen, light and dark. They show a real run of
// a scripted story. Needs Chromium and tmux; times and ids differ from one run to the next.
import { mkdirSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { launchBrowser } from '../test/web/support/launch-browser.ts';
import { reducePng } from './shots/reduce-png.ts';
import { program, serveStory } from './shots/serve-story.ts';
import { captureTerminal, terminalPage } from './shots/terminal.ts';

const folder = resolve(import.meta.dirname, '../docs/images');
mkdirSync(folder, { recursive: true });

await using story = await serveStory();
await using launched = await launchBrowser();
const { runs } = await story.client.tree(story.runId);
const payments = runs.find(({ name }) => name === 'payments');

/** Address, height, and what must be visible. */
const pages = {
  tree: [`/trees/${story.runId}`, 620, 'licences'],
  timeline: [`/trees/${story.runId}/timeline`, 625, 'licences'],
  run: [`/runs/${payments.id}`, 760, 'idempotency key'],
};

// First, while one run still writes.
const screen = await captureTerminal(`${process.execPath} ${program} top`, {
  ...{ columns: 110, rows: 19, folder: story.folder, env: story.env },
  isReady: (text) => text.includes('licences') && text.includes('writing'),
});

for (const colorScheme of ['light', 'dark']) {
  const context = await launched.browser.newContext({ viewport: { width: 1200, height: 800 }, deviceScaleFactor: 1.25, colorScheme });
  const page = await context.newPage();
  await page.goto(story.link);
  for (const [name, [path, height, text]] of Object.entries(pages)) {
    await page.setViewportSize({ width: 1200, height });
    await page.goto(new URL(path, story.url).href);
    await page.getByText(text).first().waitFor();
    await page.waitForLoadState('networkidle', { timeout: 2_000 }).catch(() => {});
    save(`${name}-${colorScheme}`, await page.screenshot({ animations: 'allow', caret: 'initial' }));
  }
  await context.close();
}

for (const scheme of ['light', 'dark']) {
  const page = await launched.browser.newPage({ deviceScaleFactor: 1.5, viewport: { width: 1200, height: 800 } });
  await page.setContent(terminalPage(screen, scheme, 'retinue top'));
  save(`terminal-${scheme}`, await page.locator('.window').screenshot({ omitBackground: true }));
  await page.close();
}

await launched[Symbol.asyncDispose]();
await story[Symbol.asyncDispose]();
// Answers that the provider still delays would keep the process alive.
process.exit(0);

function save(name, png) {
  const reduced = reducePng(png);
  writeFileSync(resolve(folder, `${name}.png`), reduced);
  process.stdout.write(`${name}.png ${Math.round(reduced.length / 1024)} KB\n`);
}
