// docs/security.md has a line for every case it speaks of, and each test that it names is there.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'docs/security.md'), 'utf8');
const rows = page
  .split('| case | what happens | tests |\n|---|---|---|\n')
  .slice(1)
  .flatMap((table) => table.split('\n\n', 1)[0]?.split('\n') ?? [])
  .filter((line) => line.startsWith('| '))
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()));

/** A test is a file and a name in it: a file alone would hold whatever becomes of its tests. */
const named = /`(test\/[\w/.-]+\.test\.ts)` "([^"]+)"/g;

it('every case of processes, rights and terminals has a line', () => {
  const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
  const numbers = rows.flatMap(([name = '']) => /^(\d+) /.exec(name)?.[1] ?? []).map(Number);
  expect(numbers).toEqual([...range(1, 16), ...range(44, 57), 63]);
});

it('every line says what happens, and names a test or why there is none', () => {
  for (const [name, happens = '', tests = ''] of rows) {
    expect(happens.length, name).toBeGreaterThan(5);
    expect(tests.replace(named, '').replaceAll(',', '').trim(), name).toMatch(/^(none here: .+)?$/);
  }
});

it('the tests that it names are there', () => {
  const missing = [...page.matchAll(named)].flatMap(([, path = '', name = '']) => {
    const file = join(root, path);
    return existsSync(file) && titlesOf(file).some((title) => title.includes(name)) ? [] : [`${path}: ${name}`];
  });
  expect([...page.matchAll(named)].length).toBeGreaterThan(40);
  expect(missing).toEqual([]);
});

/** The strings of a test file: titles, and the words of tables that become titles. */
function titlesOf(file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(/'((?:[^'\\\n]|\\.)*)'|"([^"\n]*)"/g)].map(([, one, two]) => one ?? two ?? '');
}
