// docs/dialects.md names a test for every row, and each of them is there.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { dialectNames, makeDialect } from '../../src/dialects/index.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/dialects.md'), 'utf8');
const rows = page
  .split('\n## ')
  .flatMap((section) => section.split('| requirement | where met | test |\n|---|---|---|\n').slice(1))
  .flatMap((table) => table.split('\n').filter((line) => line.startsWith('| ')));

/** A test is a file and a name in it: a file alone would hold whatever becomes of its tests. */
const named = /`(test\/[\w/.-]+\.test\.ts)` "([^"]+)"/g;

it('every row says where it is met, and names a test', () => {
  expect(rows.length).toBeGreaterThan(140);
  const cells = rows.map((row) => row.split('|').map((cell) => cell.trim()));
  expect(cells.filter(([, requirement, met]) => requirement === '' || met === '')).toEqual([]);
  const tests = cells.map((row) => row.at(-2) ?? '');
  expect(tests.filter((cell) => cell === '' || cell.replace(named, '').replaceAll(',', '').trim() !== '')).toEqual([]);
});

it('the tests that it names are there', () => {
  const missing = rows.flatMap((row) =>
    [...row.matchAll(named)].flatMap(([, path = '', name = '']) => {
      const file = join(root, path);
      return existsSync(file) && titlesOf(file).some((title) => title.includes(name)) ? [] : [`${path}: ${name}`];
    }),
  );
  expect(missing).toEqual([]);
});

it('each dialect is held through both doors: a parent model’s and a client’s', () => {
  for (const name of dialectNames.filter((each) => each !== 'native')) {
    expect(page).toContain(`\`test/dialects/${name}-kernel.test.ts\``);
    expect(page).toContain(`\`test/mcp/${name}.test.ts\``);
  }
});

/** The strings of a test file: titles, and the words of tables that become titles. */
function titlesOf(file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(/'((?:[^'\\\n]|\\.)*)'|"([^"\n]*)"/g)].map(([, one, two]) => one ?? two ?? '');
}

it('names every dialect’s tools and settings', () => {
  const names = dialectNames.filter((name) => name !== 'native').flatMap((name) => makeDialect(name).tools.map((tool) => tool.name));
  expect(names.filter((name) => !page.includes(`\`${name} {`) && !page.includes(`\`${name}`))).toEqual([]);
});
