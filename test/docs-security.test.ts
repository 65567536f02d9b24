// docs/security.md has a line for every case, and each line names its tests.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { citation, citationProblems } from './support/cited-tests.ts';

const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'docs/security.md'), 'utf8');
const rows = page
  .split('| case | what happens | tests |\n|---|---|---|\n')
  .slice(1)
  .flatMap((table) => table.split('\n\n', 1)[0]?.split('\n') ?? [])
  .filter((line) => line.startsWith('| '))
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()));

it('every case of processes, rights and terminals has a line', () => {
  const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
  const numbers = rows.flatMap(([name = '']) => /^(\d+) /.exec(name)?.[1] ?? []).map(Number);
  expect(numbers).toEqual([...range(1, 16), ...range(44, 57), 63]);
});

it('every line says what happens, and names a test or why there is none', () => {
  for (const [name, happens = '', tests = ''] of rows) {
    expect(happens.length, name).toBeGreaterThan(5);
    expect(tests.replace(citation, '').replaceAll(',', '').trim(), name).toMatch(/^(none here: .+)?$/);
  }
});

it('each test that it names exists, under a title that fits no other test of the file', () => {
  expect([...page.matchAll(citation)].length).toBeGreaterThan(40);
  expect(citationProblems(page)).toEqual([]);
});
