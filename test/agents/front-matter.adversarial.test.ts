import { describe, expect, test } from 'vitest';
import { parseFrontMatter } from '../../src/agents/front-matter.ts';
import { isRetinueError } from '../../src/contract/error.ts';

function failure(head: string): string {
  try {
    parseFrontMatter('a.md', `---\n${head}\n---\nbody`);
  } catch (error) {
    expect(isRetinueError(error)).toBe(true);
    return (error as Error).message;
  }
  throw new Error('it was accepted');
}

describe('hostile front matter', () => {
  const table: [head: string, said: RegExp][] = [
    ['a: &x [1]\nb: *x', /^a\.md:3: aliases are not allowed/],
    ['a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]', /aliases are not allowed/],
    ['a: !!js/function "x"', /^a\.md:2: invalid YAML: Unresolved tag/],
    ['a: !custom x', /invalid YAML: Unresolved tag/],
    ['a: !!binary aGk=', /invalid YAML: Unresolved tag/],
    ['a: 1\na: 2', /^a\.md:3: invalid YAML: Map keys must be unique/],
    ['a: 1\n\tb: 2', /invalid YAML/],
    ['a: [1', /invalid YAML/],
    ['- a\n- b', /^a\.md:2: the front matter must consist of keys and values/],
    ['just text', /must consist of keys and values/],
    ['? [a, b]\n: c', /a key must be a plain word/],
    ['1: x', /a key must be a plain word/],
    [`a: ${'['.repeat(30_000)}`, /invalid YAML/],
    [`a: "${'x'.repeat(70_000)}"`, /^a\.md:1: the front matter is larger than 65536 bytes/],
  ];
  for (const [head, said] of table) test(JSON.stringify(head.slice(0, 50)), () => expect(failure(head)).toMatch(said));

  test('a merge key is an ordinary key', () => {
    expect(parseFrontMatter('a.md', '---\n<<: { tools: [] }\n---\nx')?.entries.map(({ key }) => key)).toEqual(['<<']);
  });

  test('values that only YAML 1.1 converts stay text', () => {
    const values = parseFrontMatter('a.md', '---\na: yes\nb: no\nc: 2020-01-01\nd: 1_000\n---\nx')?.entries.map(({ value }) => value);
    expect(values).toEqual(['yes', 'no', '2020-01-01', '1_000']);
  });

  test('front matter without an end', () => {
    expect(() => parseFrontMatter('a.md', `---\nname: a\n${'x\n'.repeat(100_000)}`)).toThrow(/a\.md:1: the front matter does not end/);
  });

  test('empty front matter has no keys, and a line of dashes below it belongs to the body', () => {
    expect(parseFrontMatter('a.md', '---\n---\none\n---\ntwo')).toEqual({ entries: [], body: 'one\n---\ntwo' });
    expect(parseFrontMatter('a.md', '---\n\n---\none')).toEqual({ entries: [], body: 'one' });
  });

  test('many lines of dashes that do not end it', () => {
    expect(parseFrontMatter('a.md', `---\na: b\n---\n${'---x\n'.repeat(40_000)}`)?.entries).toHaveLength(1);
    expect(() => parseFrontMatter('a.md', `---\n${'---x\n'.repeat(40_000)}`)).toThrow(/does not end/);
  });
});
