import { isAbsolute } from 'node:path';
import { expect, it } from 'vitest';
import { userConfigFolder } from '../../src/config/user-folders.ts';

it.each([{ HOME: '/h' }, { HOME: '/h', XDG_CONFIG_HOME: 'relative' }])('the configuration folder for %j is in the home folder', (env) => {
  expect(userConfigFolder(env)).toBe('/h/.config/retinue');
});

it.each([{ HOME: 'relative' }, { HOME: '' }, {}])('the configuration folder is never in the current directory: %j', (env) => {
  expect(isAbsolute(userConfigFolder(env))).toBe(true);
  expect(userConfigFolder(env).startsWith(process.cwd())).toBe(false);
});
