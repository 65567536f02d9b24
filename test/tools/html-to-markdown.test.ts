import { describe, expect, test } from 'vitest';
import { htmlToMarkdown } from '../../src/tools/web/html-to-markdown.ts';
import { watchEventLoop } from '../support/cpu-time.ts';

const convert = (html: string) => htmlToMarkdown(html, 'https://example.com/dir/page', new AbortController().signal);

test.each([
  { name: 'headings and paragraphs', html: '<h1>A</h1><p>b\n  c</p><h3> D </h3>e', text: '# A\n\nb c\n\n### D\n\ne' },
  { name: 'emphasis, with the space where it belongs', html: 'a<b> b </b>c <i>d</i>, <em></em>e', text: 'a **b** c *d*, e' },
  {
    name: 'links',
    html: '<a href="x">rel</a> <a href="#f">frag</a> <a href="javascript:x()">js</a> <a href="//o.org/">o</a>',
    text: '[rel](https://example.com/dir/x) frag js [o](https://o.org/)',
  },
  { name: 'a base', html: '<base href="https://b.org/x/"><a href="y">y</a>', text: '[y](https://b.org/x/y)' },
  { name: 'a link around blocks', html: '<a href="/x"><h2>T</h2><p>t</p></a>', text: '## T\n\nt' },
  { name: 'lists', html: '<ul><li>a<li>b<ul><li>c</ul></ul><ol start="3"><li>d<li><p>e</p></ol>', text: '- a\n- b\n  - c\n\n3. d\n4. e' },
  { name: 'quotes', html: '<blockquote>a<br>b<blockquote>c</blockquote></blockquote>d', text: '> a\n> b\n\n> > c\n\nd' },
  { name: 'code', html: 'run <code>a b</code> or <code>`x`</code>', text: 'run `a b` or `` `x` ``' },
  {
    name: 'blocks of code',
    html: '<pre><code>\nif <b>x</b> &lt; 1:\n    y\n</code></pre>after',
    text: '```\nif x < 1:\n    y\n```\n\nafter',
  },
  { name: 'code that holds a fence', html: '<pre>```\na\n```</pre>', text: '````\n```\na\n```\n````' },
  { name: 'code in a list', html: '<ul><li>a<pre>b\nc</pre></ul>', text: '- a\n\n  ```\n  b\n  c\n  ```' },
  {
    name: 'tables',
    html: '<table><tr><th>a<th>b|c<tr><td>1<td><p>2</p><p>3</p></table>x',
    text: '| a | b\\|c |\n| --- | --- |\n| 1 | 2 3 |\n\nx',
  },
  {
    name: 'images',
    html: '<img src="i.png" alt="a cat"><img src="x.png"><img alt="y" src="data:image/png,x">',
    text: '![a cat](https://example.com/dir/i.png)',
  },
  {
    name: 'what is hidden',
    html: 'a<script>b</script><style>c</style><p hidden>d<p style="color:red; display : none">e<div aria-hidden="true">f</div><template>g</template><svg><text>h</text></svg>i',
    text: 'ai',
  },
  { name: 'entities', html: '&lt;b&gt; &amp;amp; &eacute; &#x1F600; &nope;', text: '<b> &amp; é 😀 &nope;' },
  { name: 'definitions', html: '<dl><dt>a<dd>b<dt>c<dd>d</dl>', text: 'a\nb\nc\nd' },
  { name: 'a rule', html: 'a<hr>b', text: 'a\n\n---\n\nb' },
  { name: 'tags that never close', html: '<div><b>a<i>b<a href=x>c', text: '**a*b[c](https://example.com/dir/x)***' },
  { name: 'nothing', html: '', text: '' },
])('$name', async ({ html, text }) => expect(await convert(html)).toEqual({ title: null, text, cut: false }));

test('the title is taken once', async () => {
  expect(await convert('<head><title>\n One &amp;\n two </title></head><body>x<svg><title>no</title></svg>')).toMatchObject({
    title: 'One & two',
    text: 'x',
  });
});

describe('pages designed to be slow', { timeout: 240_000 }, () => {
  const pages: Record<string, string> = {
    'deep nesting': '<div>'.repeat(1_000_000),
    'deep lists': '<ul><li>x'.repeat(500_000),
    'links in links': '<a href=x>'.repeat(500_000),
    'quotes with many lines': `${'<blockquote>'.repeat(300)}${'<br>x'.repeat(900_000)}`,
    'closing what is not open': `${'<b>'.repeat(390)}${'</x>'.repeat(1_000_000)}`,
    'runs of spaces': `x${' '.repeat(100_000)}`.repeat(50),
    paragraphs: '<p>x'.repeat(1_000_000),
    cells: `<table><tr>${'<td>x'.repeat(800_000)}`,
    fences: `<pre>${'``` '.repeat(1_000_000)}`,
    attributes: `<a ${'b=c '.repeat(1_000_000)}>x`,
    brackets: '<'.repeat(5_000_000),
    comments: '<!--'.repeat(1_000_000),
    styles: `<p style="${'display '.repeat(600_000)}">x`,
  };
  test.each(Object.entries(pages))('%s', async (_, html) => {
    const stop = watchEventLoop();
    const { text } = await convert(html);
    const { longestTurnMs } = stop();
    expect(text.length).toBeLessThan(10_000_000);
    // The event loop runs in between.
    expect(longestTurnMs).toBeLessThan(1000);
  });

  test('stops when it is aborted', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(htmlToMarkdown('x', 'https://example.com', signal)).rejects.toThrow('enough');
  });
});
