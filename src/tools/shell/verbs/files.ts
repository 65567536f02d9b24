import { awk, sed, tar } from './languages.ts';
import { operands, type Verb } from './verb.ts';

const writesFile = 'it writes a file';

/** Programs that search, sort, pack and change files. */
export const files: Record<string, Verb> = {
  rg: {
    long: ['pre', 'hostname-bin', 'search-zip', 'pre-glob', 'ignore-file', 'file'],
    short: 'z',
    values: 'ABCMTdefgjmrtE',
    textAfter: {
      letters: 'inlcvwFoHhsqPaxuSNUp0L',
      long: [
        'hidden',
        'no-ignore',
        'files-with-matches',
        'ignore-case',
        'fixed-strings',
        'line-number',
        'count',
        'word-regexp',
        'no-heading',
        'json',
      ],
    },
    textFlags: ['-e', '--regexp', '-g', '--glob', '-r', '--replace'],
  },
  grep: {
    values: 'ABCDdefm',
    textAfter: {
      letters: 'inlcvwFEGoHhsqPaxrRyzLTUbI',
      long: [
        'ignore-case',
        'fixed-strings',
        'extended-regexp',
        'line-number',
        'count',
        'recursive',
        'word-regexp',
        'files-with-matches',
        'only-matching',
      ],
    },
    textFlags: ['-e', '--regexp', '--include', '--exclude', '--exclude-dir'],
  },
  sort: { short: 'oT', values: 'ktS', long: ['output', 'compress-program', 'temporary-directory', 'files0-from', 'random-source'] },
  uniq: { check: (words) => (operands(words).length > 1 ? writesFile : null) },
  tar: { check: tar },
  zip: { always: 'it writes files, and flags start programs' },
  unzip: { always: writesFile },
  '7z': { always: writesFile },
  cpio: { always: writesFile },
  sed: { check: sed, textAfter: { letters: 'nErszu', long: ['quiet', 'silent', 'regexp-extended'] } },
  dd: { check: (words) => (words.some(({ text }) => text.startsWith('of=')) ? writesFile : null) },
  tee: { writes: 'all' },
  touch: { writes: 'all', short: 'r', long: ['reference'] },
  mkdir: { writes: 'all' },
  rmdir: { writes: 'all' },
  rm: { writes: 'all' },
  unlink: { writes: 'all' },
  shred: { writes: 'all', long: ['random-source'] },
  truncate: { writes: 'all', short: 'r', long: ['reference'] },
  chmod: { writes: 'all', long: ['reference'] },
  chown: { writes: 'all', long: ['reference', 'from'] },
  cp: { writes: 'last', short: 'tSls', long: ['target-directory', 'suffix', 'backup', 'link', 'symbolic-link'], check: merges },
  mv: { writes: 'last', short: 'tS', long: ['target-directory', 'suffix', 'backup'] },
  install: { writes: 'last', short: 'tsS', long: ['target-directory', 'strip-program', 'strip', 'suffix', 'backup'] },
  // A link is a way out of the workspace for whoever follows it.
  ln: { writes: 'last', short: 'tsS', long: ['target-directory', 'symbolic', 'suffix', 'backup'] },
  rsync: { always: 'it copies files, and flags start programs' },
  split: { always: writesFile },
  csplit: { always: writesFile },
  patch: { always: 'what it changes is in the patch' },
  ed: { always: 'its commands can start programs' },
  ex: { always: 'its commands can start programs' },
  ...Object.fromEntries(
    'vi vim nvim view vimdiff emacs nano pico joe'.split(' ').map((name) => [name, { always: 'an editor starts programs' }]),
  ),
  ...Object.fromEntries('less more most man info pg lesspipe'.split(' ').map((name) => [name, { always: 'a pager starts programs' }])),
  ...Object.fromEntries('awk gawk mawk nawk'.split(' ').map((name) => [name, { check: awk, textAfter: { letters: '', long: [] } }])),
  jq: {
    check: (words) => (words.some(({ text }) => /\b(import|include)\b/.test(text)) ? 'it loads other files' : null),
    long: ['from-file', 'rawfile', 'slurpfile'],
    short: 'fL',
    values: '',
    textAfter: { letters: 'rcneSsaCMj', long: ['raw-output', 'compact-output'] },
  },
  yq: { short: 'is', long: ['inplace', 'split-exp', 'from-file'] },
  wc: { long: ['files0-from'] },
  du: { long: ['files0-from', 'exclude-from'] },
  date: { short: 'sf', values: 'dIr', long: ['set', 'file'] },
  file: { short: 'fmC', values: '', long: ['files-from', 'magic-file', 'compile'] },
  diff: { long: ['to-file', 'from-file'] },
  xxd: { short: 'r', check: (words) => (operands(words).length > 1 ? writesFile : null) },
  base64: {},
  make: {
    long: ['eval', 'directory', 'include-dir'],
    short: 'CI',
    check: (words) => (words.some(({ text }) => /^\w+=/.test(text)) ? 'it sets a variable that recipes obey' : null),
  },
  tail: { values: 'cnsp' },
  head: { values: 'cn' },
  mkfifo: { writes: 'all' },
  sqlite3: { always: 'its commands can start programs' },
  openssl: { always: 'it reads keys and writes files' },
  gpg: { always: 'it reads keys and writes files' },
  go: {
    long: ['exec', 'toolexec'],
    words: ['-exec', '-toolexec', '-o', '-overlay', '-vettool', '-modfile'],
    check: singleDash(/^-(exec|toolexec|o|overlay|vettool|modfile|C)(=|$)/),
  },
  cargo: { long: ['config', 'target-dir', 'out-dir', 'manifest-path'], short: 'CZ' },
  npm: {
    long: [
      'prefix',
      'script-shell',
      'userconfig',
      'globalconfig',
      'node-options',
      'shell',
      'git',
      'editor',
      'viewer',
      'browser',
      'init-module',
      'cache',
      'global',
    ],
    short: 'gC',
    runs: ['exec', 'x'],
  },
};

function singleDash(pattern: RegExp): NonNullable<Verb['check']> {
  return (words) => (words.some(({ text }) => pattern.test(text)) ? 'this flag starts another program or writes a file' : null);
}

/** Copying a tree over the workspace puts its hidden files in the place of those that the user's programs obey. */
function merges(words: { text: string }[]): string | null {
  const isTree = words.some(({ text }) => /^-[a-zA-Z]*[rRa]|^--(rec|arc)/.test(text));
  return isTree && /^(\.?\/*)*$/.test(words.at(-1)?.text ?? '') ? 'it copies a tree over the workspace' : null;
}
