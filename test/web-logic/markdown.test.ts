// The Markdown of models as data: what is formatted, and what stays text.
import { describe, expect, it } from 'vitest';
import { parseInline, parseMarkdown, toSafeAddress } from '../../web/src/parts/markdown-parse.ts';
import { cpuMs } from '../support/cpu-time.ts';

describe('blocks', () => {
  it('reads headings, paragraphs, code, quotes, rules and tables', () => {
    const text =
      '# Title\none\ntwo\n\n```ts\nconst a = 1;\n# not a heading\n```\n> quoted\n> more\n\n---\n| a | b |\n|---|:-:|\n| 1 | `2` |';
    expect(parseMarkdown(text)).toEqual([
      { type: 'heading', level: 1, children: ['Title'] },
      { type: 'paragraph', children: ['one\ntwo'] },
      { type: 'code', language: 'ts', text: 'const a = 1;\n# not a heading' },
      { type: 'quote', blocks: [{ type: 'paragraph', children: ['quoted\nmore'] }] },
      { type: 'rule' },
      { type: 'table', head: [['a'], ['b']], rows: [[['1'], [{ type: 'code', text: '2' }]]] },
    ]);
  });

  it('reads lists with nested ones and continued items', () => {
    expect(parseMarkdown('- a\n  more\n  - b\n- c\n\n3. x\n4. y')).toEqual([
      {
        type: 'list',
        start: null,
        items: [
          [
            { type: 'paragraph', children: ['a\nmore'] },
            { type: 'list', start: null, items: [[{ type: 'paragraph', children: ['b'] }]] },
          ],
          [{ type: 'paragraph', children: ['c'] }],
        ],
      },
      { type: 'list', start: 3, items: [[{ type: 'paragraph', children: ['x'] }], [{ type: 'paragraph', children: ['y'] }]] },
    ]);
  });

  it('ends a code block that is never closed with the text', () => {
    expect(parseMarkdown('```\nopen')).toEqual([{ type: 'code', language: '', text: 'open' }]);
  });
});

describe('inline', () => {
  it('reads code, emphasis and links', () => {
    expect(parseInline('a `b` **c *d*** [e](https://x.org/y) ~~f~~')).toEqual([
      'a ',
      { type: 'code', text: 'b' },
      ' ',
      { type: 'strong', children: ['c ', { type: 'emphasis', children: ['d'] }] },
      ' ',
      { type: 'link', href: 'https://x.org/y', children: ['e'] },
      ' ',
      { type: 'strike', children: ['f'] },
    ]);
  });

  it('leaves what is no formatting as text', () => {
    for (const text of ['a * b * c', 'snake_case_name', '2 ** 3', '<script>alert(1)</script>', 'a ` b', '[x] done', '**']) {
      expect(parseInline(text)).toEqual([text]);
    }
    expect(parseInline('\\*not\\*')).toEqual(['*not*']);
  });

  it('links only to web pages', () => {
    for (const href of [
      'javascript:alert(1)',
      'JaVaScRiPt:alert(1)',
      'data:text/html,x',
      '/api/runs',
      '//evil.org',
      'vbscript:x',
      'file:///etc/passwd',
    ])
      expect(toSafeAddress(href)).toBeNull();
    expect(toSafeAddress('https://example.org/a?b=c')).toBe('https://example.org/a?b=c');
    expect(parseInline('[x](javascript:alert`1`)')).toEqual([{ type: 'code', text: '[x](javascript:alert`1`)' }]);
    expect(parseInline('see https://example.org/a.')).toEqual([
      'see ',
      { type: 'link', href: 'https://example.org/a', children: ['https://example.org/a'] },
      '.',
    ]);
  });
});

it('takes a time that grows with the length of hostile texts', () => {
  for (const unit of ['*', '_a', '`', '[', '> ', '- ', '**a', '|-', '1. ', '~~', '[a](']) {
    const text = unit.repeat(20_000);
    const ms = cpuMs(() => {
      parseMarkdown(text);
      parseMarkdown(`${unit}\n`.repeat(5_000));
    });
    expect(ms, unit).toBeLessThan(20_000);
  }
});
