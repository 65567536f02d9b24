// Programs that the configuration of a repository makes git start: filters, text conversions, hooks. A repository may come from anywhere, and outside a
// sandbox such a program runs as the user. The user's own and the system's configuration are trusted.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type GitSetting, parseGitConfig } from '../../../files/git-config.ts';
import { isExecutable } from '../../environment.ts';
import type { PathScope } from '../command-paths.ts';
import { gitCommands, isChangingCommand } from './git-commands.ts';

const maxFiles = 20;
const maxBytes = 1024 * 1024;

/** Keys without their subsection, by the commands that use them. */
const usedByAll =
  /^(diff\.(textconv|command|external)|filter\.(clean|smudge|process)|merge\.driver|core\.(fsmonitor|pager|worktree)|gpg\.program|interactive\.difffilter)$/;
const usedByRemotes =
  /^(core\.(sshcommand|gitproxy|askpass|alternaterefscommand)|credential\.helper|remote\.(uploadpack|receivepack|vcs)|url\.(push)?insteadof|protocol\.allow)$/;
const usedByChanges = /^(core\.(editor|hookspath)|sequence\.editor|trailer\.(command|cmd))$/;
/** A partial clone fetches missing objects in any command. */
const promisor = /^(remote\.(promisor|partialclonefilter)|extensions\.partialclone)$/;

const booleans = /^(true|false|yes|no|on|off|0|1|)$/i;
const largeFiles = /^git[ -]lfs (clean -- %f|smudge (--skip )?-- %f|filter-process( --skip)?)$/;

/** Returns which setting or hook of the repository may start a program, or null. */
export function findGitProgram(subcommand: string, { roots }: PathScope): string | null {
  const repository = findRepository(roots.at(-1) as string);
  if (repository === null) return null;
  const settings = readSettings([join(repository, 'config'), join(repository, 'config.worktree')]);
  const changes = isChangingCommand(subcommand);
  const usesRemote = gitCommands.get(subcommand)?.usesRemote === true || settings.some(({ key }) => promisor.test(key));
  const isUsed = ({ key, value }: GitSetting) =>
    (usedByAll.test(key) || (usesRemote && usedByRemotes.test(key)) || (changes && usedByChanges.test(key))) && !isHarmless(key, value);
  const found = settings.find(isUsed);
  if (found) return `the repository sets \`${found.key}\`, which can make git start a program`;
  const hook = findHooks(join(repository, 'hooks')).find((name) => changes || name === 'post-index-change');
  return hook === undefined ? null : `the repository has the hook \`${hook}\`, which git would start`;
}

function isHarmless(key: string, value: string): boolean {
  if (value === '') return true;
  if (key === 'core.fsmonitor') return booleans.test(value);
  return key.startsWith('filter.') && largeFiles.test(value);
}

/** The folder with the configuration that git would use in `folder`; null if there is no repository. */
function findRepository(folder: string): string | null {
  for (let top = folder; ; top = dirname(top)) {
    const own = join(top, '.git');
    if (existsSync(own)) {
      const pointer = /^gitdir:\s*(.+)$/m.exec(readText(own))?.[1]?.trim();
      const directory = pointer === undefined ? own : resolve(top, pointer);
      return resolve(directory, readText(join(directory, 'commondir')).trim() || '.');
    }
    if (['HEAD', 'objects', 'refs'].every((name) => existsSync(join(top, name)))) return top;
    if (dirname(top) === top) return null;
  }
}

/** Follows every include, whatever its condition. */
function readSettings(files: string[]): GitSetting[] {
  const todo = [...files];
  const found: GitSetting[] = [];
  for (let n = 0; n < todo.length && n < maxFiles; n++) {
    const file = todo[n] as string;
    for (const setting of parseGitConfig(readText(file))) {
      found.push(setting);
      if (!/^include(if)?\.path$/.test(setting.key)) continue;
      const included = resolve(dirname(file), setting.value);
      if (!todo.includes(included)) todo.push(included);
    }
  }
  return found;
}

function findHooks(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => !name.includes('.') && isExecutable(join(folder, name)));
  } catch {
    return [];
  }
}

/** '' for a missing or special file, which git cannot use either. */
function readText(file: string): string {
  try {
    const stats = statSync(file);
    return stats.isFile() ? readFileSync(file).subarray(0, maxBytes).toString('utf8') : '';
  } catch {
    return '';
  }
}
