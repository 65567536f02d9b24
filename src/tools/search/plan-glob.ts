import { isAbsolute, join } from 'node:path';
import { type Refusal, refuse } from '../refusal.ts';
import { globToRegex } from './glob-to-regex.ts';

const magic = /[*?[\]{}\\]/;

/** Where a search begins, and what the paths from there on must be like. `named`: the pattern itself names that place, so it need not exist. */
export type GlobPlan = { ok: true; start: string; regex: string; named: boolean } | Refusal;

/**
 * Splits a glob into the directories that it names plainly and the rest. The search then begins there: it need not walk the whole
 * workspace, and a directory that is ignored is entered when somebody asks for it by name.
 */
export function planGlob(pattern: string, path: string): GlobPlan {
  if (pattern.includes('\0')) return refuse('pattern: a path has no NUL characters');
  const parts = pattern.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.length === 0) return refuse('pattern: it names no file; `**` stands for every file');
  // `src/` means what is in it.
  if (pattern.endsWith('/')) parts.push('**');
  const first = parts.findIndex((part) => magic.test(part));
  const plain = parts.slice(0, first === -1 ? -1 : first);
  const rest = parts.slice(plain.length);
  if (rest.includes('..')) return refuse('pattern: `..` may not follow a wildcard');
  const from = isAbsolute(pattern) ? '/' : path;
  const translated = globToRegex(rest.join('/'));
  if (!translated.ok) return translated;
  return { ok: true, start: join(from, ...plain), regex: `^\\./${translated.regex}$`, named: plain.length > 0 };
}
