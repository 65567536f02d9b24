// The subcommands of git, and the flags of each, that a rule may allow. Everything else is unsafe: git has some 180 subcommands, treats any
// `git-x` in PATH and any alias as one more, and many flags start programs, write files or read instructions.
import { splitList } from './program.ts';

export interface GitCommand {
  /** Letters of flags without a value, with an optional attached number, and with any value. */
  plain?: string;
  number?: string;
  valued?: string;
  long?: string[];
  /** What the first operand may be; anything if omitted. */
  allowedFirst?: string[];
  /** Contacts another repository, which its operands may name. */
  usesRemote?: boolean;
  /** Which operands name files that it writes. */
  writes?: 'all' | 'last';
}

const shows = `color no-color color-words color-moved word-diff word-diff-regex patch no-patch stat numstat shortstat dirstat summary name-only name-status
  raw unified minimal patience histogram diff-algorithm diff-filter find-renames no-renames find-copies find-copies-harder break-rewrites
  ignore-all-space ignore-space-change ignore-space-at-eol ignore-cr-at-eol ignore-blank-lines ignore-matching-lines function-context full-index
  abbrev no-abbrev binary text no-ext-diff no-textconv check exit-code quiet pickaxe-all pickaxe-regex relative no-prefix src-prefix dst-prefix
  compact-summary inter-hunk-context indent-heuristic ita-invisible-in-index submodule ignore-submodules cc combined-all-paths rotate-to skip-to`;
const walks = `oneline format pretty graph decorate no-decorate decorate-refs decorate-refs-exclude all branches tags remotes glob exclude reflog walk-reflogs since
  after until before max-count skip author committer grep all-match invert-grep regexp-ignore-case extended-regexp fixed-strings perl-regexp
  merges no-merges first-parent min-parents max-parents ancestry-path topo-order date-order author-date-order reverse follow date relative-date
  parents children left-right cherry cherry-pick cherry-mark left-only right-only boundary simplify-by-decoration full-history dense sparse
  simplify-merges show-pulls abbrev-commit no-abbrev-commit source no-notes notes encoding expand-tabs no-expand-tabs no-walk diff-merges
  no-diff-merges remerge-diff count objects not mailmap no-mailmap use-mailmap log-size clear-decorations end-of-options`;
const diff: GitCommand = { plain: 'pusczrtmbwWaR', number: 'UMCBl', valued: 'SGI', long: splitList(shows) };
const log: GitCommand = { plain: 'pusczrtmbwWaRigEFP', number: 'nUMCBl', valued: 'SGLI', long: splitList(`${shows} ${walks}`) };
const refs = 'contains no-contains merged no-merged points-at sort format list color no-color column no-column ignore-case count';
const quiet = 'quiet verbose progress no-progress dry-run force';
const blame: GitCommand = {
  plain: 'ltpewsfncb',
  number: 'MC',
  valued: 'L',
  long: splitList(
    'porcelain line-porcelain incremental show-name show-number show-email show-stats root date abbrev color-lines color-by-age since score-debug',
  ),
};
const picks: GitCommand = {
  plain: 'nxs',
  number: 'm',
  long: splitList('no-commit mainline abort continue skip quit no-edit signoff allow-empty allow-empty-message keep-redundant-commits ff'),
};

const reading: Record<string, GitCommand> = {
  log,
  show: log,
  'rev-list': log,
  reflog: { ...log, allowedFirst: ['show', 'list', 'exists', 'HEAD'] },
  shortlog: { ...log, plain: 'nsecpi', number: '', valued: 'w', long: [...splitList(`${walks} numbered summary email group`)] },
  diff: { ...diff, long: [...splitList(shows), 'cached', 'staged', 'merge-base', 'ours', 'theirs', 'base'] },
  'diff-tree': { ...log, plain: `${log.plain}v`, long: [...splitList(`${shows} ${walks} root no-commit-id merge-base`)] },
  'diff-index': { ...diff, long: [...splitList(shows), 'cached', 'merge-base'] },
  'diff-files': diff,
  'range-diff': { ...log, long: [...splitList(`${shows} ${walks} creation-factor no-dual-color`)] },
  status: {
    plain: 'sbvz',
    valued: 'u',
    long: splitList(
      'short branch show-stash porcelain long verbose untracked-files ignored ahead-behind no-ahead-behind renames no-renames find-renames ignore-submodules column no-column null',
    ),
  },
  blame,
  annotate: blame,
  grep: {
    plain: 'inlvwFEGPohHLaIWprqzc',
    number: 'ABCm',
    valued: 'e',
    long: splitList(`ignore-case line-number column count files-with-matches name-only files-without-match word-regexp invert-match fixed-strings extended-regexp
      basic-regexp perl-regexp only-matching heading break show-function function-context context after-context before-context max-count max-depth
      no-recursive recursive cached untracked exclude-standard no-exclude-standard and or not all-match quiet color no-color full-name null text threads`),
  },
  'ls-files': {
    plain: 'cdmoisukztvf',
    valued: 'x',
    long: splitList(
      'cached deleted modified others ignored stage unmerged killed directory no-empty-directory exclude exclude-standard error-unmatch full-name abbrev eol deduplicate debug format',
    ),
  },
  'ls-tree': { plain: 'drtlz', long: splitList('long name-only name-status object-only full-name full-tree abbrev format') },
  'rev-parse': {
    plain: 'q',
    long: splitList(`show-toplevel abbrev-ref short verify quiet git-dir absolute-git-dir git-common-dir git-path is-inside-work-tree is-inside-git-dir
      is-bare-repository is-shallow-repository show-prefix show-cdup show-superproject-working-tree show-object-format symbolic symbolic-full-name all
      branches tags remotes glob exclude not revs-only no-revs flags no-flags default since after until before disambiguate end-of-options`),
  },
  describe: {
    long: splitList('all tags contains abbrev candidates exact-match long match exclude always first-parent dirty broken debug'),
  },
  'cat-file': { plain: 'ptse', long: splitList('batch batch-check batch-all-objects buffer unordered follow-symlinks mailmap no-mailmap') },
  'show-ref': { plain: 'dsq', long: splitList('head heads tags dereference hash abbrev verify quiet exists branches') },
  'for-each-ref': { long: splitList(refs) },
  'merge-base': { plain: 'a', long: splitList('all octopus independent is-ancestor fork-point') },
  'name-rev': { long: splitList('tags refs exclude all name-only no-undefined always') },
  'show-branch': {
    plain: 'ar',
    long: splitList(
      'all remotes current topo-order date-order sparse more list merge-base independent sha1-name no-name topics color no-color',
    ),
  },
  cherry: { plain: 'v', long: splitList('verbose abbrev') },
  'count-objects': { plain: 'vH', long: splitList('verbose human-readable') },
  'check-ignore': { plain: 'qvn', long: splitList('quiet verbose non-matching') },
  'check-attr': { plain: 'az', long: splitList('all cached') },
  'check-ref-format': { long: splitList('branch allow-onelevel normalize') },
  'hash-object': { valued: 't', long: splitList('no-filters') },
  var: { plain: 'l' },
  version: { long: ['build-options'] },
  help: { allowedFirst: [] },
  fsck: {
    long: splitList(
      'full no-full strict unreachable dangling no-dangling root tags cache no-reflogs verbose progress no-progress connectivity-only name-objects',
    ),
  },
};

/** Subcommands that change the repository or the checked-out files. */
const changing: Record<string, GitCommand> = {
  add: {
    plain: 'AunfvN',
    long: splitList(`all no-all update intent-to-add refresh ignore-errors ignore-missing renormalize chmod sparse ${quiet}`),
  },
  commit: {
    plain: 'aqvnsoi',
    valued: 'mFCu',
    long: splitList(`all message file amend no-edit no-verify allow-empty allow-empty-message author date fixup signoff no-signoff trailer only include reuse-message
      reset-author short branch porcelain long null status no-status untracked-files cleanup no-gpg-sign no-post-rewrite ${quiet}`),
  },
  branch: {
    plain: 'arvdDmMcCfqitl',
    valued: 'u',
    long: splitList(
      `${refs} all remotes verbose show-current delete move copy force quiet abbrev no-abbrev set-upstream-to unset-upstream track no-track create-reflog`,
    ),
  },
  tag: {
    plain: 'ladfi',
    number: 'n',
    valued: 'mF',
    long: splitList(`${refs} annotate message file delete force cleanup create-reflog no-sign`),
  },
  switch: {
    plain: 'dfqtm',
    valued: 'cC',
    long: splitList(`create force-create detach discard-changes merge track no-track guess no-guess orphan ${quiet}`),
  },
  checkout: {
    plain: 'fqtmld',
    valued: 'bB',
    long: splitList(`detach track no-track guess no-guess orphan ours theirs merge ${quiet}`),
    writes: 'all',
  },
  restore: {
    plain: 'SWqm',
    valued: 's',
    long: splitList(`source staged worktree ours theirs merge overlay no-overlay ${quiet}`),
    writes: 'all',
  },
  reset: { plain: 'qN', long: splitList('hard soft mixed keep merge quiet no-quiet refresh no-refresh intent-to-add') },
  rm: { plain: 'rfnq', long: splitList(`cached ignore-unmatch sparse ${quiet}`), writes: 'all' },
  mv: { plain: 'fknv', long: splitList(`sparse ${quiet}`), writes: 'last' },
  clean: { plain: 'fdnxXq', valued: 'e', long: splitList(`exclude ${quiet}`), writes: 'all' },
  stash: {
    plain: 'ukqaS',
    valued: 'm',
    allowedFirst: splitList('list show pop apply drop clear push save branch'),
    long: splitList(`${shows} index keep-index no-keep-index include-untracked only-untracked all message staged oneline format date`),
  },
  merge: {
    plain: 'qvn',
    valued: 'm',
    long: splitList(`ff no-ff ff-only squash no-squash commit no-commit abort continue quit message no-edit no-verify stat no-stat log no-log signoff
      allow-unrelated-histories autostash no-autostash no-gpg-sign ${quiet}`),
  },
  rebase: {
    plain: 'qvfnm',
    long: splitList(`continue abort skip quit onto autostash no-autostash keep-base root no-verify verify update-refs no-update-refs fork-point no-fork-point
      force-rebase no-ff stat no-stat no-gpg-sign show-current-patch reapply-cherry-picks ${quiet}`),
  },
  'cherry-pick': picks,
  revert: picks,
  notes: { allowedFirst: splitList('list show') },
  worktree: { allowedFirst: splitList('list prune'), plain: 'nvz', long: splitList('porcelain verbose dry-run') },
  bisect: { allowedFirst: splitList('good bad new old skip reset log terms') },
  gc: { long: splitList('auto aggressive prune no-prune quiet force keep-largest-pack') },
  'symbolic-ref': { plain: 'q', long: splitList('short quiet no-recurse') },
  remote: { allowedFirst: splitList('show get-url prune'), plain: 'vn', long: splitList('verbose all push dry-run'), usesRemote: true },
  'ls-remote': { plain: 'htqb', long: splitList('heads branches tags refs quiet exit-code symref sort get-url'), usesRemote: true },
  fetch: {
    plain: 'aptnqvfkP46',
    number: 'j',
    long: splitList(`all append prune prune-tags tags no-tags depth deepen unshallow shallow-since update-shallow jobs atomic keep set-upstream
      no-recurse-submodules no-auto-gc no-auto-maintenance refetch porcelain ipv4 ipv6 ${quiet}`),
    usesRemote: true,
  },
  pull: {
    plain: 'rqvnptfak46',
    number: 'j',
    long: splitList(`rebase no-rebase ff no-ff ff-only squash no-squash commit no-commit no-edit autostash no-autostash prune tags no-tags depth unshallow stat
      no-stat no-verify all no-recurse-submodules allow-unrelated-histories set-upstream ${quiet}`),
    usesRemote: true,
  },
  push: {
    plain: 'ufnqvd46',
    long: splitList(`set-upstream force-with-lease force-if-includes no-force-with-lease tags follow-tags no-follow-tags all branches mirror delete prune atomic
      no-atomic no-verify verify porcelain thin no-thin no-signed ipv4 ipv6 ${quiet}`),
    usesRemote: true,
  },
};

export function isChangingCommand(name: string): boolean {
  return Object.hasOwn(changing, name);
}

export const gitCommands = new Map(Object.entries({ ...reading, ...changing }));
/** Every subcommand of git that an alias cannot replace. New versions let aliases replace `whatchanged` and `pack-redundant`. */
export const gitSubcommands: ReadonlySet<string> = new Set(
  splitList(`add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr check-ignore check-mailmap check-ref-format checkout checkout-index
    cherry cherry-pick citool clean clone column commit commit-graph commit-tree config count-objects credential credential-cache credential-store daemon
    describe diagnose diff diff-files diff-index diff-tree difftool fast-export fast-import fetch fetch-pack filter-branch fmt-merge-msg for-each-ref
    for-each-repo format-patch fsck gc get-tar-commit-id grep gui gitk hash-object help hook http-backend http-fetch http-push imap-send index-pack init init-db
    instaweb interpret-trailers log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge merge-base merge-file merge-index merge-octopus
    merge-one-file merge-ours merge-recursive merge-resolve merge-subtree merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes pack-objects
    pack-refs patch-id prune prune-packed pull push quiltimport range-diff read-tree rebase receive-pack reflog refs remote repack replace
    replay request-pull rerere reset restore rev-list rev-parse revert rm send-email send-pack shell shortlog show show-branch show-index show-ref
    sparse-checkout stage stash status stripspace submodule subtree switch symbolic-ref tag unpack-file unpack-objects update-index update-ref
    update-server-info upload-archive upload-pack var verify-commit verify-pack verify-tag version web--browse worktree write-tree`),
);
/** Flags of git itself, before the subcommand. */
export const gitFlags = new Set(
  splitList(
    '--no-pager -P --version -v --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs --no-replace-objects --no-lazy-fetch --no-advice',
  ),
);
