import { operands, type Verb } from './verb.ts';

const writesFile = 'it writes a file';
const starts = 'it starts another program';

/** Programs that search, sort, pack and change files. */
export const files: Record<string, Verb> = {
  rg: {
    long: ['pre', 'hostname-bin', 'search-zip', 'pre-glob', 'ignore-file', 'file'],
    short: 'z',
    values: 'ABCMTdefgjmrtE',
    textAfter: { letters: 'inlcvwFoHhsqPaxuSNUp0L', long: ['hidden', 'no-ignore', 'files-with-matches', 'ignore-case', 'fixed-strings', 'line-number', 'count', 'word-regexp', 'no-heading', 'json'] },
    textFlags: ['-e', '--regexp', '-g', '--glob', '-r', '--replace'],
  },
  grep: {
    values: 'ABCDdefm',
    textAfter: { letters: 'inlcvwFEGoHhsqPaxrRyzLTUbI', long: ['ignore-case', 'fixed-strings', 'extended-regexp', 'line-number', 'count', 'recursive', 'word-regexp', 'files-with-matches', 'only-matching'] },
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
  cp: { writes: 'last', short: 'tS', long: ['target-directory', 'suffix', 'backup'] },
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
  ...Object.fromEntries('vi vim nvim view vimdiff emacs nano pico joe'.split(' ').map((name) => [name, { always: 'an editor starts programs' }])),
  ...Object.fromEntries('less more most man info pg lesspipe'.split(' ').map((name) => [name, { always: 'a pager starts programs' }])),
  ...Object.fromEntries('awk gawk mawk nawk'.split(' ').map((name) => [name, { check: awk, textAfter: { letters: '', long: [] } }])),
  jq: { long: ['from-file', 'rawfile', 'slurpfile'], short: 'fL', values: '', textAfter: { letters: 'rcneSsaCMj', long: ['raw-output', 'compact-output'] } },
  yq: { short: 'is', long: ['inplace', 'split-exp', 'from-file'] },
  wc: { long: ['files0-from'] },
  du: { long: ['files0-from', 'exclude-from'] },
  date: { short: 'sf', values: 'dIr', long: ['set', 'file'] },
  file: { short: 'fmC', values: '', long: ['files-from', 'magic-file', 'compile'] },
  diff: { long: ['to-file', 'from-file'] },
  xxd: { short: 'r', check: (words) => (operands(words).length > 1 ? writesFile : null) },
  base64: {},
  make: { long: ['eval', 'directory', 'include-dir'], short: 'CI', check: (words) => (words.some(({ text }) => /^\w+=/.test(text)) ? 'it sets a variable that recipes obey' : null) },
  tail: { values: 'cnsp' },
  head: { values: 'cn' },
  mkfifo: { writes: 'all' },
  openssl: { always: 'it reads keys and writes files' },
  gpg: { always: 'it reads keys and writes files' },
  go: { long: ['exec', 'toolexec'], words: ['-exec', '-toolexec', '-o', '-overlay', '-vettool', '-modfile'], check: singleDash(/^-(exec|toolexec|o|overlay|vettool|modfile|C)(=|$)/) },
  cargo: { long: ['config', 'target-dir', 'out-dir', 'manifest-path'], short: 'CZ' },
  npm: { long: ['prefix', 'script-shell', 'userconfig', 'globalconfig', 'node-options', 'shell', 'git', 'editor', 'viewer', 'browser', 'init-module', 'cache', 'global'], short: 'gC' },
};

function singleDash(pattern: RegExp): NonNullable<Verb['check']> {
  return (words) => (words.some(({ text }) => pattern.test(text)) ? 'this flag starts another program or writes a file' : null);
}

/** Only listing: packing and unpacking write files, and many flags start programs, as does an archive on another machine (`host:file`). */
function tar(words: { text: string }[]): string | null {
  const [, first] = words;
  const flags = words.filter(({ text }, index) => index === 1 || text.startsWith('-'));
  const lists = /^-?[vzjJa]*t/.test(first?.text ?? '') || flags.some(({ text }) => text === '--list');
  const isPlain = flags.every(({ text }) => /^(-?[tvfzjJa]+|--list|--verbose|--gzip|--xz|--bzip2|--file=[^:]*)$/.test(text));
  return lists && isPlain && !words.some(({ text }) => text.includes(':')) ? null : 'tar writes files, and flags start programs';
}

/** Only scripts of printing, deleting, quitting and plain replacing: everything else of sed's language can write or start something. */
function sed(words: { text: string; literal: boolean }[]): string | null {
  const rest = words.slice(1);
  for (const { text } of rest) {
    if (/^--(in|w|f|s(?!i)|lo|fo|nu|un)/.test(text) || /^-[nErszu]*[^nErszu-]/.test(text)) return `\`${text}\` may write files or hide instructions`;
    if (text.startsWith('--') && !/^--(quiet|silent|regexp-extended)$/.test(text)) return `\`${text}\` is not known to be harmless`;
  }
  const script = rest.find(({ text }) => !text.startsWith('-'));
  if (script === undefined) return null;
  const address = '(?:\\d+|\\$|/[^/\\\\]*/)(?:[,~+](?:\\d+|\\$|/[^/\\\\]*/))?!?';
  const replace = '(?:s/[^/\\\\]*(?:\\\\[^\\n][^/\\\\]*)*/[^/\\\\]*(?:\\\\[^\\n][^/\\\\]*)*/[gpI\\d]*|s([|#,])[^|#,\\\\/\\n]*\\1[^|#,\\\\\\n]*\\1[gpI\\d]*)';
  const command = `(?:(?:${address})? *(?:[pdq=]|${replace}))`;
  const isPlain = script.literal && new RegExp(`^(?:${command};? *)+$`).test(script.text) && !/[\n\r]/.test(script.text);
  return isPlain ? null : 'sed can write files and start programs, and this script is not known to be harmless';
}

/** Awk is a language of its own: what can start programs, read or write files is unsafe, and so is what is not written out. */
function awk(words: { text: string; literal: boolean }[]): string | null {
  const rest = words.slice(1);
  let at = 0;
  while (/^-F/.test(rest[at]?.text ?? '')) at += rest[at]?.text === '-F' ? 2 : 1;
  const script = rest[at];
  if (script === undefined || script.text.startsWith('-')) return 'its flags can name programs in files';
  if (rest.slice(at + 1).some(({ text }) => text.startsWith('-') || /^\w+=/.test(text))) return 'its variables and flags change what it does';
  if (!script.literal) return 'nobody knows its program';
  if (/system|getline|[|>@]|close|ENVIRON|ARGV|print\s*<|include|load|\\/.test(script.text)) return starts;
  return null;
}
