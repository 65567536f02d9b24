import { isAbsolute } from 'node:path';
import { expect, it } from 'vitest';
import { userConfigFolder } from '../../src/config/user-folders.ts';

it.each([{ HOME: '/h' }, { HOME: '/h', XDG_CONFIG_HOME: 'relative' }])('the own folder of %j is below its home', (env) => {
  expect(userConfigFolder(env)).toBe('/h/.config/retinue');
});

it.each([{ HOME: 'relative' }, { HOME: '' }, {}])('is never below the current directory: %j', (env) => {
  expect(isAbsolute(userConfigFolder(env))).toBe(true);
  expect(userConfigFolder(env).startsWith(process.cwd())).toBe(false);
});
