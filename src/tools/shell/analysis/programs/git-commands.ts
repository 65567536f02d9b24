/**
 * The commands of git and the flags of each that a pattern may allow. What is not here is unsafe: git has some 180 commands and takes any
 * `git-x` of PATH and any alias for one more, and many flags start programs, write files or read instructions.
 */

export interface GitCommand {
  /** Letters of flags without a value, of those with a number that may touch them, and of those with any value. */
  plain?: string;
  number?: string;
  valued?: string;
  long?: string[];
  /** What may stand as the first word behind it; without this, anything. */
  first?: string[];
  /** It speaks to another repository, and its words may name one. */
  remote?: boolean;
  /** Its words name files that it writes. */
  writes?: 'all' | 'last';
}

const list = (text: string): string[] => text.trim().split(/\s+/);

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
const diff: GitCommand = { plain: 'pusczrtmbwWaR', number: 'UMCBl', valued: 'SGI', long: list(shows) };
const log: GitCommand = { plain: 'pusczrtmbwWaRigEFP', number: 'nUMCBl', valued: 'SGLI', long: list(`${shows} ${walks}`) };
const refs = 'contains no-contains merged no-merged points-at sort format list color no-color column no-column ignore-case count';
const quiet = 'quiet verbose progress no-progress dry-run force';
const blame: GitCommand = {
  plain: 'ltpewsfncb',
  number: 'MC',
  valued: 'L',
  long: list(
    'porcelain line-porcelain incremental show-name show-number show-email show-stats root date abbrev color-lines color-by-age since score-debug',
  ),
};
const picks: GitCommand = {
  plain: 'nxs',
  number: 'm',
  long: list('no-commit mainline abort continue skip quit no-edit signoff allow-empty allow-empty-message keep-redundant-commits ff'),
};

const reading: Record<string, GitCommand> = {
  log,
  show: log,
  whatchanged: log,
  'rev-list': log,
  reflog: { ...log, first: ['show', 'list', 'exists', 'HEAD'] },
  shortlog: { ...log, plain: 'nsecpi', number: '', valued: 'w', long: [...list(`${walks} numbered summary email group`)] },
  diff: { ...diff, long: [...list(shows), 'cached', 'staged', 'merge-base', 'ours', 'theirs', 'base'] },
  'diff-tree': { ...log, plain: `${log.plain}v`, long: [...list(`${shows} ${walks} root no-commit-id merge-base`)] },
  'diff-index': { ...diff, long: [...list(shows), 'cached', 'merge-base'] },
  'diff-files': diff,
  'range-diff': { ...log, long: [...list(`${shows} ${walks} creation-factor no-dual-color`)] },
  status: {
    plain: 'sbvz',
    valued: 'u',
    long: list(
      'short branch show-stash porcelain long verbose untracked-files ignored ahead-behind no-ahead-behind renames no-renames find-renames ignore-submodules column no-column null',
    ),
  },
  blame,
  annotate: blame,
  grep: {
    plain: 'inlvwFEGPohHLaIWprqzc',
    number: 'ABCm',
    valued: 'e',
    long: list(`ignore-case line-number column count files-with-matches name-only files-without-match word-regexp invert-match fixed-strings extended-regexp
      basic-regexp perl-regexp only-matching heading break show-function function-context context after-context before-context max-count max-depth
      no-recursive recursive cached untracked exclude-standard no-exclude-standard and or not all-match quiet color no-color full-name null text threads`),
  },
  'ls-files': {
    plain: 'cdmoisukztvf',
    valued: 'x',
    long: list(
      'cached deleted modified others ignored stage unmerged killed directory no-empty-directory exclude exclude-standard error-unmatch full-name abbrev eol deduplicate debug format',
    ),
  },
  'ls-tree': { plain: 'drtlz', long: list('long name-only name-status object-only full-name full-tree abbrev format') },
  'rev-parse': {
    plain: 'q',
    long: list(`show-toplevel abbrev-ref short verify quiet git-dir absolute-git-dir git-common-dir git-path is-inside-work-tree is-inside-git-dir
      is-bare-repository is-shallow-repository show-prefix show-cdup show-superproject-working-tree show-object-format symbolic symbolic-full-name all
      branches tags remotes glob exclude not revs-only no-revs flags no-flags default since after until before disambiguate end-of-options`),
  },
  describe: {
    long: list('all tags contains abbrev candidates exact-match long match exclude always first-parent dirty broken debug'),
  },
  'cat-file': { plain: 'ptse', long: list('batch batch-check batch-all-objects buffer unordered follow-symlinks mailmap no-mailmap') },
  'show-ref': { plain: 'dsq', long: list('head heads tags dereference hash abbrev verify quiet exists branches') },
  'for-each-ref': { long: list(refs) },
  'merge-base': { plain: 'a', long: list('all octopus independent is-ancestor fork-point') },
  'name-rev': { long: list('tags refs exclude all name-only no-undefined always') },
  'show-branch': {
    plain: 'ar',
    long: list('all remotes current topo-order date-order sparse more list merge-base independent sha1-name no-name topics color no-color'),
  },
  cherry: { plain: 'v', long: list('verbose abbrev') },
  'count-objects': { plain: 'vH', long: list('verbose human-readable') },
  'check-ignore': { plain: 'qvn', long: list('quiet verbose non-matching') },
  'check-attr': { plain: 'az', long: list('all cached') },
  'check-ref-format': { long: list('branch allow-onelevel normalize') },
  'hash-object': { valued: 't', long: list('no-filters') },
  var: { plain: 'l' },
  version: { long: ['build-options'] },
  help: { first: [] },
  fsck: {
    long: list(
      'full no-full strict unreachable dangling no-dangling root tags cache no-reflogs verbose progress no-progress connectivity-only name-objects',
    ),
  },
};

/** What changes the repository or the files of the branch. Its flags are listed for the same reason. */
const changing: Record<string, GitCommand> = {
  add: {
    plain: 'AunfvN',
    long: list(`all no-all update intent-to-add refresh ignore-errors ignore-missing renormalize chmod sparse ${quiet}`),
  },
  commit: {
    plain: 'aqvnsoi',
    valued: 'mFCu',
    long: list(`all message file amend no-edit no-verify allow-empty allow-empty-message author date fixup signoff no-signoff trailer only include reuse-message
      reset-author short branch porcelain long null status no-status untracked-files cleanup no-gpg-sign no-post-rewrite ${quiet}`),
  },
  branch: {
    plain: 'arvdDmMcCfqitl',
    valued: 'u',
    long: list(
      `${refs} all remotes verbose show-current delete move copy force quiet abbrev no-abbrev set-upstream-to unset-upstream track no-track create-reflog`,
    ),
  },
  tag: {
    plain: 'ladfi',
    number: 'n',
    valued: 'mF',
    long: list(`${refs} annotate message file delete force cleanup create-reflog no-sign`),
  },
  switch: {
    plain: 'dfqtm',
    valued: 'cC',
    long: list(`create force-create detach discard-changes merge track no-track guess no-guess orphan ${quiet}`),
  },
  checkout: {
    plain: 'fqtmld',
    valued: 'bB',
    long: list(`detach track no-track guess no-guess orphan ours theirs merge ${quiet}`),
    writes: 'all',
  },
  restore: {
    plain: 'SWqm',
    valued: 's',
    long: list(`source staged worktree ours theirs merge overlay no-overlay ${quiet}`),
    writes: 'all',
  },
  reset: { plain: 'qN', long: list('hard soft mixed keep merge quiet no-quiet refresh no-refresh intent-to-add') },
  rm: { plain: 'rfnq', long: list(`cached ignore-unmatch sparse ${quiet}`), writes: 'all' },
  mv: { plain: 'fknv', long: list(`sparse ${quiet}`), writes: 'last' },
  clean: { plain: 'fdnxXq', valued: 'e', long: list(`exclude ${quiet}`), writes: 'all' },
  stash: {
    plain: 'ukqaS',
    valued: 'm',
    first: list('list show pop apply drop clear push save branch'),
    long: list(`${shows} index keep-index no-keep-index include-untracked only-untracked all message staged oneline format date`),
  },
  merge: {
    plain: 'qvn',
    valued: 'm',
    long: list(`ff no-ff ff-only squash no-squash commit no-commit abort continue quit message no-edit no-verify stat no-stat log no-log signoff
      allow-unrelated-histories autostash no-autostash no-gpg-sign ${quiet}`),
  },
  rebase: {
    plain: 'qvfnm',
    long: list(`continue abort skip quit onto autostash no-autostash keep-base root no-verify verify update-refs no-update-refs fork-point no-fork-point
      force-rebase no-ff stat no-stat no-gpg-sign show-current-patch reapply-cherry-picks ${quiet}`),
  },
  'cherry-pick': picks,
  revert: picks,
  notes: { first: list('list show') },
  worktree: { first: list('list prune'), plain: 'nvz', long: list('porcelain verbose dry-run') },
  bisect: { first: list('good bad new old skip reset log terms') },
  gc: { long: list('auto aggressive prune no-prune quiet force keep-largest-pack') },
  'symbolic-ref': { plain: 'q', long: list('short quiet no-recurse') },
  remote: { first: list('show get-url prune'), plain: 'vn', long: list('verbose all push dry-run'), remote: true },
  'ls-remote': { plain: 'htqb', long: list('heads branches tags refs quiet exit-code symref sort get-url'), remote: true },
  fetch: {
    plain: 'aptnqvfkP46',
    number: 'j',
    long: list(`all append prune prune-tags tags no-tags depth deepen unshallow shallow-since update-shallow jobs atomic keep set-upstream
      no-recurse-submodules no-auto-gc no-auto-maintenance refetch porcelain ipv4 ipv6 ${quiet}`),
    remote: true,
  },
  pull: {
    plain: 'rqvnptfak46',
    number: 'j',
    long: list(`rebase no-rebase ff no-ff ff-only squash no-squash commit no-commit no-edit autostash no-autostash prune tags no-tags depth unshallow stat
      no-stat no-verify all no-recurse-submodules allow-unrelated-histories set-upstream ${quiet}`),
    remote: true,
  },
  push: {
    plain: 'ufnqvd46',
    long: list(`set-upstream force-with-lease force-if-includes no-force-with-lease tags follow-tags no-follow-tags all branches mirror delete prune atomic
      no-atomic no-verify verify porcelain thin no-thin no-signed ipv4 ipv6 ${quiet}`),
    remote: true,
  },
};

export const gitCommands = new Map(Object.entries({ ...reading, ...changing }));
/** Flags of git itself, before the command. */
export const gitFlags = new Set(
  list(
    '--no-pager -P --version -v --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-replace-objects --no-lazy-fetch --no-advice',
  ),
);
