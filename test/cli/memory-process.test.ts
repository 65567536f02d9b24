import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createPlace } from './support-process.ts';

it('notes are stored per workspace, and listing creates no database', async () => {
  using place = createPlace({ runs: [{ steps: [{ text: 'ok' }] }] });
  const list = async (...words: string[]) =>
    JSON.parse((await place.run('memory', 'list', ...words, '--json')).out) as { title: string; text: string }[];
  expect(await list()).toEqual([]);
  expect((await place.run('memory', 'rm', 'db')).code).toBe(1);
  expect(existsSync(join(place.folder, '.retinue'))).toBe(false);
  expect(await place.run('memory', 'add', 'db', 'start it with', 'make db')).toMatchObject({ code: 0, out: 'stored db\n' });
  expect((await place.run('memory', 'add', 'tests', 'npm test')).code).toBe(0);
  expect((await place.run('memory', 'add', 'db', 'start it with docker')).code).toBe(0);
  expect((await list()).map(({ title, text }) => [title, text])).toEqual([
    ['db', 'start it with docker'],
    ['tests', 'npm test'],
  ]);
  expect((await list('DOCKER', 'start')).map(({ title }) => title)).toEqual(['db']);
  expect((await place.run('memory', 'rm', 'db')).code).toBe(0);
  expect((await list()).map(({ title }) => title)).toEqual(['tests']);
});
