import type { Word } from '../word.ts';
import { operands, type Verb } from './verb.ts';

/** Subcommands that start programs named in configuration or arguments, or that change what git obeys. */
const hostile = `config submodule filter-branch filter-repo difftool mergetool gui gitk daemon send-email imap-send credential
  credential-store credential-cache hook instaweb shell upload-pack receive-pack upload-archive fast-import fast-export p4 svn cvsserver
  cvsimport archimport quiltimport request-pull web--browse remote-ext remote-fd remote-https remote-http citool init-db update-server-info
  maintenance scalar sh-setup for-each-repo bundle`.split(/\s+/);
/** Flags of git itself and of its subcommands that start programs, load configuration, leave the repository or write files. */
const long =
  `config-env exec-path git-dir work-tree namespace super-prefix bare paginate attr-source output output-directory upload-pack receive-pack
  exec ext-diff textconv filters open-files-in-pager extcmd tool template separate-git-dir config recurse-submodules remote no-index contents
  strategy gpg-sign local-user sign interactive pathspec-from-file stdin prefix reference unsafe-paths directory`.split(/\s+/);

const url = /^(ext|fd|file|transport)::|::|^-/;
const speaksToRemotes = new Set(['clone', 'fetch', 'pull', 'push', 'ls-remote', 'remote', 'archive']);

export const git: Verb = {
  long,
  textFlags: [
    '-m',
    '--message',
    '--grep',
    '--author',
    '--format',
    '--pretty',
    '--date',
    '--since',
    '--until',
    '--after',
    '--before',
    '-S',
    '-G',
  ],
  // Elsewhere `-m` may stand without a value.
  textFor: ['commit', 'tag', 'merge', 'stash', 'notes', 'log', 'show', 'rev-list', 'shortlog'],
  check,
};

function check(words: Word[]): string | null {
  const at = words.findIndex(({ text }, index) => index > 0 && !text.startsWith('-'));
  if (at === -1) return null;
  if (words.slice(1, at).some(({ text }) => /^-[pcC]/.test(text))) {
    return 'a flag before the subcommand changes what git obeys';
  }
  const name = (words[at] as Word).text;
  const rest = words.slice(at + 1);
  const has = (pattern: RegExp) => rest.some(({ text }) => pattern.test(text));
  if (hostile.includes(name) && !(name === 'config' && isReading(rest)))
    return `\`git ${name}\` can start programs or change what git obeys`;
  if (name === 'bisect' && has(/^(run|start|view|visualize|replay)$/)) return '`git bisect run` starts programs';
  if (name === 'rebase' && has(/^-[a-zA-Z]*[xis]/)) return '`git rebase` with this flag starts programs';
  if ((name === 'merge' || name === 'pull') && has(/^-[a-zA-Z]*s/)) return 'a strategy is a program';
  if (name === 'grep' && has(/^-[a-zA-Z]*O/)) return '`git grep -O` starts a pager';
  if ((name === 'archive' || name === 'format-patch') && has(/^-[a-zA-Z]*o/)) return 'it writes files';
  if ((name === 'clone' || name === 'init') && has(/^-[a-zA-Z]*[uc]/)) return 'this flag starts programs or configures git';
  if (name === 'ls-remote' && has(/^-[a-zA-Z]*[uo]/)) return 'this flag starts programs';
  if (name === 'remote' && has(/^(add|set-url|rename)$/)) return 'it changes where git connects to';
  if (name === 'worktree' && has(/^(add|move)$/)) return 'it writes outside the files of this branch';
  if (name === 'help' && rest.length > 0) return 'it may start a pager or a browser';
  if (speaksToRemotes.has(name) && operands([words[0] as Word, ...rest]).some(({ text }) => url.test(text) || isLocal(text)))
    return 'this address can start programs';
  return null;
}

function isReading(rest: Word[]): boolean {
  return (
    rest.length > 0 &&
    rest.every(({ text }, index) => (index === 0 ? /^(--get|--get-all|--get-regexp|--list|-l)$/.test(text) : !text.startsWith('-')))
  );
}

/** A folder as a remote brings its own configuration along. */
function isLocal(text: string): boolean {
  return /^[./~]/.test(text);
}
