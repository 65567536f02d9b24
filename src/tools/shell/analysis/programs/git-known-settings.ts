// The settings of a repository that cannot make git start a program. Every setting that is not listed here counts as one that can.
import type { GitSetting } from '../../../files/git-config.ts';
import { splitList } from './program.ts';

/** Sections of programs and subcommands that no rule allows without `unsafe`, and of pure display. */
const harmlessSections = new Set(
  splitList(
    'advice alias am blame browser color column difftool fsck gitflow gitk gui help i18n man mergetool pretty svn svn-remote versionsort',
  ),
);

/** Keys without their subsection. */
const harmlessKeys = toKeys({
  core: `repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf quotepath abbrev compression
    loosecompression bigfilethreshold sharedrepository untrackedcache preloadindex commitgraph multipackindex sparsecheckout sparsecheckoutcone checkstat trustctime
    whitespace commentchar longpaths fscache protecthfs protectntfs packedgitwindowsize packedgitlimit deltabasecachelimit warnambiguousrefs fsync fsyncmethod
    fsyncobjectfiles attributesfile excludesfile checkroundtripencoding hidedotfiles prefersymlinkrefs maxtreedepth`,
  user: 'name email signingkey useconfigonly',
  author: 'name email',
  committer: 'name email',
  commit: 'gpgsign template cleanup verbose status',
  tag: 'gpgsign sort forcesignannotated',
  gpg: 'format mintrustlevel allowedsignersfile revocationfile',
  push: 'default autosetupremote followtags useforceifincludes usebitmaps',
  pull: 'ff octopus',
  fetch: 'prune prunetags parallel fsckobjects writecommitgraph showforcedupdates output unpacklimit negotiationalgorithm',
  transfer: 'fsckobjects unpacklimit',
  init: 'defaultbranch',
  branch: 'merge rebase description autosetupmerge autosetuprebase sort vscode-merge-base gh-merge-base github-pr-owner-number',
  remote: 'fetch push tagopt prune prunetags mirror gh-resolved skipdefaultupdate skipfetchall promisor partialclonefilter',
  extensions: 'objectformat compatobjectformat worktreeconfig partialclone noop refstorage preciousobjects relativeworktrees',
  submodule: 'url active path branch ignore',
  gc: `auto autodetach autopacklimit pruneexpire reflogexpire reflogexpireunreachable worktreepruneexpire packrefs writecommitgraph aggressivedepth aggressivewindow
    bigpackthreshold cruftpacks logexpiry`,
  maintenance: 'auto strategy autodetach',
  receive: 'denycurrentbranch denynonfastforwards denydeletes',
  merge:
    'ff conflictstyle log renames renamelimit directoryrenames stat autostash verbosity tool guitool defaulttoupstream suppressdest branchdesc renormalize name',
  diff: `renames renamelimit algorithm mnemonicprefix noprefix colormoved colormovedws indentheuristic context interhunkcontext statgraphwidth submodule
    ignoresubmodules wserrorhighlight suppressblankempty wordregex orderfile dirstat autorefreshindex relative tool guitool xfuncname funcname binary cachetextconv`,
  log: 'date decorate abbrevcommit follow showroot showsignature mailmap diffmerges excludedecoration graphcolors',
  format: 'pretty',
  status: 'short branch showuntrackedfiles relativepaths showstash aheadbehind renames renamelimit displaycommentprefix',
  // Not `instructionformat`: it is written into the list of instructions, and may begin a new line there.
  rebase:
    'rebasemerges backend autosquash autostash stat updaterefs missingcommitscheck forkpoint abbreviatecommands rescheduleFailedExec maxlabellength',
  rerere: 'enabled autoupdate',
  grep: 'linenumber patterntype extendedregexp fullname column threads fallbacktonoindex',
  index: 'version threads skiphash recordendofindexentries recordoffsettable',
  feature: 'manyfiles experimental',
  pack: 'threads window depth windowmemory compression writebitmaps usesparse packsizelimit indexversion deltacachesize deltacachelimit usebitmaps',
  http: 'extraheader postbuffer lowspeedlimit lowspeedtime version useragent maxrequests',
  credential: 'username usehttppath',
  lfs: 'repositoryformatversion access locksverify fetchinclude fetchexclude',
  mailmap: 'file blob',
  stash: 'showincludeuntracked showpatch showstat',
  checkout: 'defaultremote guess workers thresholdforparallelism',
  worktree: 'guessremote',
  clean: 'requireforce',
  apply: 'whitespace ignorewhitespace',
  filter: 'required',
  trailer: 'key ifexists ifmissing where separators',
});

/** Starts with a protocol, or with `host:` or `user@host:`, which git contacts by SSH. A path names a repository with hooks of its own. */
const networkAddress = /^(?:(?:https?|ssh|git):\/\/[^\s]+|(?:\w[\w.-]*@)?\w[\w.-]*:(?!:|\/\/)[^\s]*)$/;
const boolean = /^(true|false|yes|no|on|off|0|1|)$/i;
const largeFiles = /^git[ -]lfs (clean -- %f|smudge (--skip )?-- %f|filter-process( --skip)?)$/;

/** Keys that are harmless with these values. An empty value means none. */
const harmlessValues: Record<string, RegExp> = {
  'core.fsmonitor': boolean,
  'remote.url': networkAddress,
  'remote.pushurl': networkAddress,
  'pull.rebase': /^(true|false|yes|no|on|off|0|1|m|merges)$/i,
  'submodule.update': /^(checkout|merge|rebase|none)$/,
  'protocol.version': /^[012]$/,
  'filter.clean': largeFiles,
  'filter.smudge': largeFiles,
  'filter.process': largeFiles,
  // The program `true`, for files that are never merged.
  'merge.driver': /^true$/,
};

/** Settings that only commands use that contact another repository, or that change something. */
const usedByRemotes =
  /^(core\.(sshcommand|gitproxy|askpass|alternaterefscommand)|credential\.[^.]*|http\.[^.]*|remote\.(url|pushurl|pushdefault|uploadpack|receivepack|vcs|proxy)|url\.(push)?insteadof|protocol\.allow|branch\.(remote|pushremote))$/;
const usedByChanges = /^(core\.editor|sequence\.editor|trailer\.(command|cmd))$/;

/** The commands that a setting is judged for. */
export interface SettingUse {
  /** The command contacts another repository. */
  remote: boolean;
  /** The command changes the repository or the working tree. */
  changes: boolean;
}

/** Whether a setting may make git start a program in such a command, or use another working tree. `all`: all settings of the repository. */
export function mayStartProgram(setting: GitSetting, { remote, changes }: SettingUse, all: readonly GitSetting[]): boolean {
  const { key, value } = setting;
  const [section = ''] = key.split('.');
  if (harmlessSections.has(section) || harmlessKeys.has(key)) return false;
  if (!remote && usedByRemotes.test(key)) return false;
  if (!changes && usedByChanges.test(key)) return false;
  if (section === 'pager') return !boolean.test(value);
  if (/^(branch\.(remote|pushremote)|remote\.pushdefault)$/.test(key)) return !namesRemote(value, all);
  return value !== '' ? harmlessValues[key]?.test(value) !== true : !/^(core|credential|diff|filter|gpg|merge|interactive)\./.test(key);
}

/** A partial clone fetches missing objects in any command. */
export function isPartialClone(settings: readonly GitSetting[]): boolean {
  return settings.some(({ key }) => /^(remote\.(promisor|partialclonefilter)|extensions\.partialclone)$/.test(key));
}

/** The repository itself, a remote with an address, or an address. Any other name is that of a folder. */
function namesRemote(value: string, all: readonly GitSetting[]): boolean {
  return value === '.' || networkAddress.test(value) || all.some(({ key, subsection }) => key === 'remote.url' && subsection === value);
}

function toKeys(sections: Record<string, string>): Set<string> {
  return new Set(
    Object.entries(sections).flatMap(([section, names]) => splitList(names).map((name) => `${section}.${name.toLowerCase()}`)),
  );
}
