// A real Chromium without a window, with a profile and a home of its own that are deleted at the end.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { findBrowser } from './find-browser.ts';

const flags = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export interface LaunchedBrowser extends AsyncDisposable {
  browser: Browser;
}

export async function launchBrowser(): Promise<LaunchedBrowser> {
  const executablePath = findBrowser();
  const home = mkdtempSync(join(tmpdir(), 'retinue-browser-'));
  const remove = () => rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  try {
    // Chromium's own sandbox does not work as root.
    const args = process.getuid?.() === 0 ? ['--no-sandbox', ...flags] : flags;
    const browser = await chromium.launch({
      ...{ executablePath, args, headless: true, timeout: 60_000 },
      env: { PATH: process.env.PATH ?? '', HOME: home, LANG: 'C.UTF-8' },
    });
    return {
      browser,
      async [Symbol.asyncDispose]() {
        await browser.close();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}
