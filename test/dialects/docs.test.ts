// Every row of the tables in docs/dialects.md names an existing test.
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

/** A file and the name of a test in it: a file alone would still match after its tests were removed. */
const named = /`(test\/[\w/.-]+\.test\.ts)` "([^"]+)"/g;

it('every row says where the requirement is met, and names a test', () => {
  expect(rows.length).toBeGreaterThan(140);
  const cells = rows.map((row) => row.split('|').map((cell) => cell.trim()));
  expect(cells.filter(([, requirement, met]) => requirement === '' || met === '')).toEqual([]);
  const tests = cells.map((row) => row.at(-2) ?? '');
  expect(tests.filter((cell) => cell === '' || cell.replace(named, '').replaceAll(',', '').trim() !== '')).toEqual([]);
});

it('the named tests exist', () => {
  const missing = rows.flatMap((row) =>
    [...row.matchAll(named)].flatMap(([, path = '', name = '']) => {
      const file = join(root, path);
      return existsSync(file) && readTitles(file).some((title) => title.includes(name)) ? [] : [`${path}: ${name}`];
    }),
  );
  expect(missing).toEqual([]);
});

it('each dialect is tested with a parent model and with an MCP client', () => {
  for (const name of dialectNames.filter((each) => each !== 'native')) {
    expect(page).toContain(`\`test/dialects/${name}-kernel.test.ts\``);
    expect(page).toContain(`\`test/mcp/${name}.test.ts\``);
  }
});

/** All strings of a test file: titles, and table entries that become titles. */
function readTitles(file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(/'((?:[^'\\\n]|\\.)*)'|"([^"\n]*)"/g)].map(([, one, two]) => one ?? two ?? '');
}

it('names every dialect’s tools and settings', () => {
  const names = dialectNames.filter((name) => name !== 'native').flatMap((name) => makeDialect(name).tools.map((tool) => tool.name));
  expect(names.filter((name) => !page.includes(`\`${name} {`) && !page.includes(`\`${name}`))).toEqual([]);
});
