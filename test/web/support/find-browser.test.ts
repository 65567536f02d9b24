import { expect, it } from 'vitest';
import { findBrowser } from './find-browser.ts';

it('says how to install a browser where there is none', () => {
  const message = /^The tests of the dashboard need Chromium: install it \(`apt-get install chromium`.*RETINUE_CHROMIUM.*\.$/;
  expect(() => findBrowser('', () => false)).toThrow(message);
});

it('uses the browser that RETINUE_CHROMIUM names, and no other', () => {
  expect(findBrowser('/opt/chrome', (path) => path === '/opt/chrome')).toBe('/opt/chrome');
  expect(() => findBrowser('/opt/chrome', (path) => path === '/usr/bin/chromium')).toThrow(
    'RETINUE_CHROMIUM names a browser that does not exist: /opt/chrome.',
  );
});

it.each(['/usr/bin/chromium', '/usr/bin/google-chrome', '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'])(
  'finds %s',
  (path) => {
    expect(findBrowser('', (each) => each === path)).toBe(path);
  },
);
