// Addresses and names that git must never get.
import { describe, expect, it } from 'vitest';
import { Brief } from '../../src/contract/brief.ts';
import { Repository } from '../../src/contract/repository.ts';

const isValid = (value: unknown) => Repository.safeParse(value).success;

describe('a repository', () => {
  it.each([
    'https://example.org/a/b.git',
    'https://example.org:8443/a',
    'http://127.0.0.1:3000/a.git',
    'ssh://git@example.org/a/b.git',
    'ssh://git@[::1]:22/a',
    'git://example.org/a',
    'git@example.org:a/b.git',
    'example.org:a/b.git',
    'file:///srv/project',
  ])('may be %s', (url) => {
    expect(isValid({ url })).toBe(true);
  });

  it.each([
    'ext::sh -c touch% /tmp/x',
    'ext::sh',
    'fd::17',
    'https::https://example.org/a',
    '--upload-pack=touch /tmp/x',
    '--upload-pack=x',
    '-oProxyCommand=x',
    'ssh://-oProxyCommand=x/a',
    'ssh://git@-oProxyCommand=x/a',
    'git@-oProxyCommand=x:a',
    'git@example.org:-x',
    'https://token@example.org/a',
    'https://user:password@example.org/a',
    'ssh://git:password@example.org/a',
    'https://example.org/a?token=x',
    'https://example.org/a#x',
    'file://host/a',
    'file:///a?x',
    'ftp://example.org/a',
    'https://example.org/a b',
    'https://example.org/a\nb',
    'https:///a',
    '../a',
    'a',
    '',
  ])('may not be %s', (url) => {
    expect(isValid({ url })).toBe(false);
  });

  it.each(['main', 'feature/x', 'v1.0', 'refs/heads/x', '0'.repeat(40)])('may name %s', (ref) => {
    expect(isValid({ path: '/a', ref })).toBe(true);
  });

  it.each(['-x', '--upload-pack=x', 'a..b', 'a b', 'a~1', 'a^', 'a:b', '@{1}', '@', 'a.lock', '/a', 'a/', 'a//b', '', '*', '.a'])(
    'may not name %s',
    (ref) => {
      expect(isValid({ path: '/a', ref })).toBe(false);
    },
  );

  it('is either an address or an absolute path', () => {
    expect([{}, { url: 'https://e.org/a', path: '/a' }, { path: 'a' }, { path: '/a\0' }, { path: '/a', more: 1 }].map(isValid)).toEqual(
      Array(5).fill(false),
    );
  });

  it('is a part of a brief, and its problem names the field', () => {
    const problem = Brief.safeParse({ task: 'x', repository: { url: 'https://t@e.org/a' } }).error?.issues[0];
    expect(problem).toMatchObject({ path: ['repository', 'url'], message: expect.stringContaining('credential helper') });
  });
});
