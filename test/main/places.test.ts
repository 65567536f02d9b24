import { isAbsolute } from 'node:path';
import { expect, it } from 'vitest';
import { ownFolder } from '../../src/main/config/places.ts';

it.each([{ HOME: '/h' }, { HOME: '/h', XDG_CONFIG_HOME: 'relative' }])('the own folder of %j is below its home', (env) => {
  expect(ownFolder(env)).toBe('/h/.config/retinue');
});

it.each([{ HOME: 'relative' }, { HOME: '' }, {}])('is never below the current directory: %j', (env) => {
  expect(isAbsolute(ownFolder(env))).toBe(true);
  expect(ownFolder(env).startsWith(process.cwd())).toBe(false);
});
