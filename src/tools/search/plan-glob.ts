// Decides where a glob search starts.
import { isAbsolute, join } from 'node:path';
import { createToolRefusal, type Refusal } from '../refusal.ts';
import { globToRegex } from './glob-to-regex.ts';

const wildcard = /[*?[\]{}\\]/;

/** Where a search starts, and the expression that paths below must match. `named`: the pattern itself names the start, so it need not exist. */
export type GlobPlan = { ok: true; start: string; regex: string; named: boolean } | Refusal;

/**
 * Splits a glob into its leading directories without wildcards and the rest. The search starts in those directories, so it need not walk the whole
 * workspace, and an ignored directory is searched if the pattern names it.
 */
export function planGlob(pattern: string, path: string): GlobPlan {
  if (pattern.includes('\0')) return createToolRefusal('pattern: must not contain NUL characters');
  const parts = pattern.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.length === 0) return createToolRefusal('pattern: names no file; use `**` for every file');
  // `src/` means everything in it.
  if (pattern.endsWith('/')) parts.push('**');
  const first = parts.findIndex((part) => wildcard.test(part));
  const plain = parts.slice(0, first === -1 ? -1 : first);
  const rest = parts.slice(plain.length);
  if (rest.includes('..')) return createToolRefusal('pattern: `..` must not follow a wildcard');
  const from = isAbsolute(pattern) ? '/' : path;
  const translated = globToRegex(rest.join('/'));
  if (!translated.ok) return translated;
  return { ok: true, start: join(from, ...plain), regex: `^\\./${translated.regex}$`, named: plain.length > 0 };
}
