// docs/library-fields.md has the fields and types of the schemas.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Brief } from '../src/contract/brief.ts';
import { factData } from '../src/contract/fact.ts';
import { Outcome } from '../src/contract/outcome.ts';
import { type Field, fieldsOf } from './support/field-types.ts';

const page = readFileSync(join(import.meta.dirname, '../docs/library-fields.md'), 'utf8');

/** The cells of the last table of a section. */
function tableOf(heading: string): string[][] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
  const tables = section.split('\n\n').filter((block) => block.startsWith('|'));
  const rows = (tables.at(-1) ?? '').trim().split('\n').slice(2);
  return rows.map((row) => row.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')));
}

const toRow = ({ name, type }: Field) => [`\`${name}\``, type];

it('has every field of a brief', () => {
  const table = tableOf('A brief');
  expect(table.map(([name, type]) => [name, type])).toEqual(fieldsOf(Brief).map(toRow));
  const required = fieldsOf(Brief).flatMap(({ name, isRequired }) => (isRequired ? [`\`${name}\``] : []));
  expect(table.filter(([, , byDefault]) => byDefault === 'required').map(([name]) => name)).toEqual(required);
});

it('has every field of an outcome', () => {
  expect(tableOf('An outcome').map(([name, type]) => [name, type])).toEqual(fieldsOf(Outcome).map(toRow));
});

it('has every event with its fields', () => {
  const events = Object.entries(factData()).map(([type, schema]) => {
    const names = fieldsOf(schema).map(({ name, isRequired }) => `\`${isRequired ? name : `${name}?`}\``);
    return [`\`${type}\``, names.join(', ')];
  });
  expect(tableOf('Events').map(([type, fields]) => [type, fields])).toEqual(events);
});

it('gives every row all its cells', () => {
  const tables = [tableOf('A brief'), tableOf('An outcome'), tableOf('Events')];
  expect(tables.map((rows) => [...new Set(rows.map((row) => row.length))])).toEqual([[4], [3], [3]]);
  expect(tables.flat(2).filter((cell) => cell.trim() === '')).toEqual([]);
});
