// Finds the browser for the tests of the dashboard. They fail without one, because tests that are skipped look like tests that pass.
import { existsSync } from 'node:fs';

const known = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** Throws one sentence that says how to install a browser. */
export function findBrowser(
  named: string | undefined = process.env.RETINUE_CHROMIUM,
  exists: (path: string) => boolean = existsSync,
): string {
  if (named) {
    if (exists(named)) return named;
    throw new Error(`RETINUE_CHROMIUM names a browser that does not exist: ${named}.`);
  }
  const found = known.find(exists);
  if (found !== undefined) return found;
  const ways = '`apt-get install chromium` on Debian, `brew install --cask chromium` on macOS';
  throw new Error(`The tests of the dashboard need Chromium: install it (${ways}), or set RETINUE_CHROMIUM to the path of the program.`);
}
