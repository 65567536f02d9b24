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

it('every row names a test', () => {
  expect(rows.length).toBeGreaterThan(120);
  expect(rows.filter((row) => !/`test\/[\w/.-]+`/.test(row.split(' | ').at(-1) ?? ''))).toEqual([]);
});

it('the tests that it names are there', () => {
  const missing = rows.flatMap((row) =>
    [...row.matchAll(/`(test\/[\w/.-]+)`(?: "([^"]+)")?/g)].flatMap(([, path = '', name = '']) => {
      const file = join(root, path);
      if (!existsSync(file)) return [path];
      return path.endsWith('.ts') && !readFileSync(file, 'utf8').includes(name) ? [`${path}: ${name}`] : [];
    }),
  );
  // Of the process host and of the server over MCP, which have their own folders.
  expect(missing.filter((path) => path !== 'test/hosts/process.test.ts' && path !== 'test/mcp/')).toEqual([]);
});

it('names every dialect’s tools and settings', () => {
  const names = dialectNames.filter((name) => name !== 'native').flatMap((name) => makeDialect(name).tools.map((tool) => tool.name));
  expect(names.filter((name) => !page.includes(`\`${name} {`) && !page.includes(`\`${name}`))).toEqual([]);
});
