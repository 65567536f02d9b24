// Every link of the pages leads to a file and a heading that exist, and the README lists every page.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const markdown = (folder: string) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
const pages = [...markdown('.'), ...markdown('docs'), ...markdown('docs/decisions')];

it.each(pages)('%s has links to what exists', (page) => {
  const links = [...withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)].map(
    ([, link, image]) => link ?? image ?? '',
  );
  expect(links.filter((link) => !/^[a-z]+:/.test(link) && !leadsSomewhere(page, link))).toEqual([]);
});

it('the README lists every page', () => {
  const table = read('README.md').split('\n## Documentation\n')[1] ?? '';
  expect(markdown('docs').filter((page) => !table.includes(`](${page})`))).toEqual([]);
});

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : relative(root, resolve(root, dirname(page), path));
  if (!existsSync(join(root, target))) return false;
  return anchor === undefined || anchors(read(target)).includes(anchor);
}

/** The anchors that GitHub gives to headings. */
function anchors(text: string): string[] {
  const headings = [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, '');
}
