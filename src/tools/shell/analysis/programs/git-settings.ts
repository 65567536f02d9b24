// Programs that a repository makes git start: filters, text conversions, hooks, commands of an unfinished rebase. A repository may come from anywhere, and
// outside a sandbox such a program runs as the user. The user's own and the system's configuration are trusted.
//
// Nothing is started to find out. A repository that is not understood exactly counts as one that starts programs: another place than git would look in,
// a setting that is not known to be harmless, an included file, a configuration that is too large.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isExecutable } from '../../../../system/executable.ts';
import { type GitSetting, parseGitConfig } from '../../../files/git-config.ts';
import type { PathScope } from '../command-paths.ts';
import type { ShellWord } from '../read-word.ts';
import { gitCommands, isChangingCommand } from './git-commands.ts';
import { isPartialClone, mayStartProgram, type SettingUse } from './git-known-settings.ts';
import { bringsCommits, findNestedRepositories } from './git-nested.ts';
import { type FoundRepository, findRepository, type GitRepository, isSameFolder, lstat, readFileOrNull, stat } from './git-repository.ts';

const maxConfigBytes = 1024 * 1024;

/** Returns why this git command may start a program of the repository, or null. `rest`: its words after the subcommand. */
export function findGitProgram(subcommand: string, rest: readonly ShellWord[], { roots, isSingleCommand }: PathScope): string | null {
  const folder = roots.at(-1) as string;
  const { repository, problem } = findRepository(folder);
  if (problem !== null) return describeUncertain(problem);
  if (repository === null) return null;
  if (!isSingleCommand && repository.top !== folder && bringsCommits(subcommand))
    return 'it can make the workspace a repository of its own for the next command; run it alone';
  const remote = gitCommands.get(subcommand)?.usesRemote === true;
  const use = { remote, changes: isChangingCommand(subcommand) };
  const own = findProblem(repository, use) ?? findRebaseProgram(subcommand, rest, repository);
  if (own !== null) return own;
  const nested = findNestedRepositories(repository, { folder, subcommand, rest, remote });
  if (nested.problem !== null) return nested.problem;
  for (const { path, found } of nested.repositories) {
    const inside = checkNested(found, use);
    if (inside !== null) return `in the nested repository \`${path}\`, ${inside}`;
  }
  return null;
}

function checkNested({ repository, problem }: FoundRepository, { remote }: SettingUse): string | null {
  if (problem !== null) return describeUncertain(problem);
  // Git reads its state, and fetches into it.
  return repository && findProblem(repository, { remote, changes: remote });
}

function describeUncertain(problem: string): string {
  return `${problem}, so it is uncertain which settings git uses`;
}

function findProblem(repository: GitRepository, { remote, changes }: SettingUse): string | null {
  const settings = readSettings(repository);
  if (typeof settings === 'string') return settings;
  const use = { remote: remote || isPartialClone(settings), changes };
  const found = settings.find((each) =>
    each.key === 'core.worktree' ? !isOwnFolder(each.value, repository) : mayStartProgram(each, use, settings),
  );
  if (found) return `the repository sets \`${found.key}\`, which may make git start a program`;
  if (use.remote && namesOtherRepositories(repository)) return 'the repository names other repositories of this machine in its files';
  const hook = findHooks(join(repository.shared, 'hooks')).find((name) => changes || name === 'post-index-change');
  return hook === undefined ? null : `the repository has the hook \`${hook}\`, which git would start`;
}

/** Why they cannot be read if git might read them. */
function readSettings({ own, shared }: GitRepository): GitSetting[] | string {
  const found: GitSetting[] = [];
  for (const file of new Set([join(shared, 'config'), join(own, 'config.worktree')])) {
    if (lstat(file) === null) continue;
    const size = stat(file)?.size ?? Number.POSITIVE_INFINITY;
    const text = size > maxConfigBytes ? null : readFileOrNull(file);
    if (text === null) return "the repository's configuration is too large or cannot be read";
    const { settings, hasUnknownText } = parseGitConfig(text);
    if (hasUnknownText) return "the repository's configuration has text that is not understood";
    found.push(...settings);
  }
  return found;
}

/** A submodule names its own folder. */
function isOwnFolder(worktree: string, { top, own }: GitRepository): boolean {
  if (top === own) return true;
  return worktree !== '' && isSameFolder(worktree.startsWith('/') ? worktree : `${own}/${worktree}`, top);
}

/** Old kinds of files with addresses of remotes, and repositories whose objects are shared, in which git lists the branches. */
function namesOtherRepositories({ shared }: GitRepository): boolean {
  const isFilled = (name: string) => readNames(join(shared, name)).length > 0;
  return isFilled('remotes') || isFilled('branches') || lstat(join(shared, 'objects/info/alternates')) !== null;
}

function findHooks(folder: string): string[] {
  return readNames(folder).filter((name) => !name.includes('.') && isExecutable(join(folder, name)));
}

function readNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Steps of a rebase that start nothing but git itself and the user's editor. */
const plainStep = /^(#|$|(pick|p|reword|r|edit|e|squash|s|fixup|f|drop|d|label|l|reset|t|merge|m|break|b|noop|update-ref|u)(\s|$))/;
const plainStrategy = /^(ort|recursive|resolve|ours|octopus|subtree)?\n?$/;

/** An unfinished rebase has its remaining steps in a file, and a step may be any command. */
function findRebaseProgram(subcommand: string, rest: readonly ShellWord[], { own }: GitRepository): string | null {
  if (subcommand !== 'rebase' || !rest.some(({ text }) => /^--(continue|skip)$/.test(text))) return null;
  const folder = join(own, 'rebase-merge');
  const steps = readState(join(folder, 'git-rebase-todo'))?.split('\n');
  const isPlain = steps?.every((line) => plainStep.test(line.trim())) && plainStrategy.test(readState(join(folder, 'strategy')) ?? '?');
  return isPlain ? null : 'the unfinished rebase may execute commands';
}

/** '' for a missing file, null for one that cannot be read. */
function readState(file: string): string | null {
  if (lstat(file) === null) return '';
  try {
    return stat(file)?.isFile() ? readFileSync(file, 'utf8') : null;
  } catch {
    return null;
  }
}
