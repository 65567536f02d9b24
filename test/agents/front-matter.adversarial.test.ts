import { describe, expect, test } from 'vitest';
import { readFrontMatter } from '../../src/agents/front-matter.ts';
import { isRetinueError } from '../../src/contract/error.ts';

function failure(head: string): string {
  try {
    readFrontMatter('a.md', `---\n${head}\n---\nbody`);
  } catch (error) {
    expect(isRetinueError(error)).toBe(true);
    return (error as Error).message;
  }
  throw new Error('it was accepted');
}

describe('front matter that means harm', () => {
  const table: [head: string, said: RegExp][] = [
    ['a: &x [1]\nb: *x', /^a\.md:3: aliases are not allowed/],
    ['a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]', /aliases are not allowed/],
    ['a: !!js/function "x"', /^a\.md:2: not YAML: Unresolved tag/],
    ['a: !custom x', /not YAML: Unresolved tag/],
    ['a: !!binary aGk=', /not YAML: Unresolved tag/],
    ['a: 1\na: 2', /^a\.md:3: not YAML: Map keys must be unique/],
    ['a: 1\n\tb: 2', /not YAML/],
    ['a: [1', /not YAML/],
    ['- a\n- b', /^a\.md:2: the front matter must be keys with values/],
    ['just text', /must be keys with values/],
    ['? [a, b]\n: c', /a key must be a word/],
    ['1: x', /a key must be a word/],
    [`a: ${'['.repeat(30_000)}`, /not YAML/],
    [`a: "${'x'.repeat(70_000)}"`, /^a\.md:1: front matter of more than 65536 bytes is refused/],
  ];
  for (const [head, said] of table) test(JSON.stringify(head.slice(0, 50)), () => expect(failure(head)).toMatch(said));

  test('a merge key is a key like any other', () => {
    expect(readFrontMatter('a.md', '---\n<<: { tools: [] }\n---\nx')?.entries.map(({ key }) => key)).toEqual(['<<']);
  });

  test('words that YAML 1.1 took for something else are words', () => {
    const values = readFrontMatter('a.md', '---\na: yes\nb: no\nc: 2020-01-01\nd: 1_000\n---\nx')?.entries.map(({ value }) => value);
    expect(values).toEqual(['yes', 'no', '2020-01-01', '1_000']);
  });

  test('an end that never comes', () => {
    expect(() => readFrontMatter('a.md', `---\nname: a\n${'x\n'.repeat(100_000)}`)).toThrow(/a\.md:1: the front matter has no end/);
  });

  test('an empty one has no keys, and a rule below it is part of the body', () => {
    expect(readFrontMatter('a.md', '---\n---\none\n---\ntwo')).toEqual({ entries: [], body: 'one\n---\ntwo' });
    expect(readFrontMatter('a.md', '---\n\n---\none')).toEqual({ entries: [], body: 'one' });
  });

  test('many lines of dashes that are no end', () => {
    expect(readFrontMatter('a.md', `---\na: b\n---\n${'---x\n'.repeat(40_000)}`)?.entries).toHaveLength(1);
    expect(() => readFrontMatter('a.md', `---\n${'---x\n'.repeat(40_000)}`)).toThrow(/has no end/);
  });
});
