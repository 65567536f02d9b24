// Repositories inside a working tree. Git starts itself in them to compare or fetch them, and then obeys their settings. The index says which folders
// count as nested; a command that can bring others into the index may enter every repository below the top.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseGitConfig } from '../../../files/git-config.ts';
import type { ShellWord } from '../read-word.ts';
import { type FoundRepository, type GitRepository, looksBare, lstat, readFileOrNull, readRepository, stat } from './git-repository.ts';

export interface NestedRepository {
  /** Relative to the outermost repository. */
  path: string;
  found: FoundRepository;
}

export type NestedRepositories = { repositories: NestedRepository[]; problem: null } | { repositories: []; problem: string };

interface GitCall {
  /** Where it is run. */
  folder: string;
  subcommand: string;
  rest: readonly ShellWord[];
  remote: boolean;
}

const maxIndexBytes = 200 * 1024 * 1024;
const maxNested = 200;
const maxEntries = 300_000;

export function findNestedRepositories(repository: GitRepository, call: GitCall): NestedRepositories {
  const repositories: NestedRepository[] = [];
  try {
    if (canAddGitlinks(call)) walkTree(repository.top, repositories);
    else readLinked(repository, '', repositories);
    if (call.remote) walkModules(join(repository.shared, 'modules'), repositories);
    return { repositories, problem: null };
  } catch (error) {
    if (error instanceof UnclearTree) return { repositories: [], problem: error.message };
    throw error;
  }
}

class UnclearTree extends Error {}

/** Whether the subcommand changes files and the index to those of some commit. */
export function bringsCommits(subcommand: string): boolean {
  return /^(checkout|switch|restore|reset|merge|rebase|cherry-pick|revert|pull|stash|bisect)$/.test(subcommand);
}

/** Whether the command may bring a nested repository into the index. Git may enter it in the same command or in a later one of the line. */
function canAddGitlinks({ folder, subcommand, rest }: GitCall): boolean {
  if (bringsCommits(subcommand)) return !(subcommand === 'stash' && /^(list|show)$/.test(rest[0]?.text ?? ''));
  // Without paths and such flags, a commit takes the index as it is.
  if (subcommand === 'commit')
    return rest.some(({ text }, index) => /^-[a-z]*[aoi]|^--(all|only|include)/.test(text) || isOperand(rest, index));
  if (subcommand !== 'add') return false;
  const operands = rest.filter(({ text }) => text !== '--');
  return (
    operands.length === 0 || !operands.every(({ text, literal }) => literal && !/^[-:]|[*?[\\]/.test(text) && isFile(join(folder, text)))
  );
}

/** The word after `-m` or `-F` is a value. */
function isOperand(rest: readonly ShellWord[], index: number): boolean {
  const text = rest[index]?.text ?? '';
  return !text.startsWith('-') && !/^(-[a-z]*[mF]|--(message|file|author|date|trailer|cleanup))$/.test(rest[index - 1]?.text ?? '');
}

function isFile(path: string): boolean {
  return lstat(path)?.isFile() === true;
}

/** Nested repositories of the index, and theirs. */
function readLinked({ top, own, shared }: GitRepository, prefix: string, found: NestedRepository[]): void {
  const { settings } = parseGitConfig(readFileOrNull(join(shared, 'config')) ?? '');
  const formats = settings.filter(({ key }) => key === 'extensions.objectformat').map(({ value }) => value);
  for (const name of readGitlinks(join(own, 'index'), formats.includes('sha256') ? 32 : 20)) {
    const path = `${prefix}${name}`;
    const nested = join(top, name);
    // Without `.git` it is not checked out, and git does not enter it.
    if (lstat(join(nested, '.git')) === null) continue;
    const inside = readRepository(nested);
    addNested(found, path, inside);
    if (inside.repository !== null) readLinked(inside.repository, `${path}/`, found);
  }
}

/** Every repository in the tree, whether it is in the index or not. */
function walkTree(top: string, found: NestedRepository[]): void {
  const todo = [''];
  let left = maxEntries;
  for (let prefix = todo.pop(); prefix !== undefined; prefix = todo.pop()) {
    for (const entry of readEntries(join(top, prefix))) {
      if (--left < 0) throw new UnclearTree('the workspace is too large to look for nested repositories');
      if (entry.name === '.git') {
        if (prefix !== '') addNested(found, prefix.slice(0, -1), readRepository(join(top, prefix)));
      } else if (entry.isDirectory()) todo.push(`${prefix}${checkName(entry.name)}/`);
    }
  }
}

/** Submodules that were fetched once, which git also fetches if they are not checked out. Their names may contain `/`. */
function walkModules(modules: string, found: NestedRepository[]): void {
  const todo = [modules];
  let left = maxEntries;
  for (let folder = todo.pop(); folder !== undefined; folder = todo.pop()) {
    if (looksBare(folder)) addNested(found, folder, { repository: { top: folder, own: folder, shared: folder }, problem: null });
    for (const entry of readEntries(folder)) {
      if (--left < 0 || entry.isSymbolicLink()) throw new UnclearTree('the repositories of its submodules are not understood');
      if (entry.isDirectory()) todo.push(join(folder, entry.name));
    }
  }
}

function addNested(all: NestedRepository[], path: string, found: FoundRepository): void {
  if (all.push({ path, found }) > maxNested) throw new UnclearTree('it has too many nested repositories');
}

/** A name that is not UTF-8 cannot be opened by its text. */
function checkName(name: string): string {
  if (name.includes('\uFFFD')) throw new UnclearTree('it has names that are not UTF-8');
  return name;
}

function readEntries(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

const headerBytes = 12;
const gitlinkMode = 0o160000;

/** The paths of nested repositories in an index of git. `idBytes`: length of its object names. */
function readGitlinks(file: string, idBytes: number): string[] {
  if (lstat(file) === null) return [];
  const size = stat(file)?.size ?? Number.POSITIVE_INFINITY;
  if (size > maxIndexBytes) throw new UnclearTree('the index of the repository is too large');
  const links = parseIndex(readFileSync(file), idBytes);
  if (links === null) throw new UnclearTree('the index of the repository is not understood');
  return links.map(checkName);
}

/** Null if it is damaged, of an unknown version, or split over several files. */
function parseIndex(index: Buffer, idBytes: number): string[] | null {
  if (index.length < headerBytes + idBytes || index.toString('latin1', 0, 4) !== 'DIRC') return null;
  const version = index.readUInt32BE(4);
  if (version < 2 || version > 4) return null;
  const links: string[] = [];
  const end = index.length - idBytes;
  let at = headerBytes;
  let previous = Buffer.alloc(0);
  for (let left = index.readUInt32BE(8); left > 0; left--) {
    const flagsAt = at + 40 + idBytes;
    if (flagsAt + 4 > end) return null;
    const isLink = (index.readUInt32BE(at + 24) & 0o170000) === gitlinkMode;
    let nameAt = flagsAt + (index.readUInt16BE(flagsAt) & 0x4000 ? 4 : 2);
    let kept = 0;
    if (version === 4) {
      const stripped = readOffset(index, nameAt, end);
      if (stripped === null || stripped.value > previous.length) return null;
      kept = previous.length - stripped.value;
      nameAt = stripped.next;
    }
    const nameEnd = index.indexOf(0, nameAt);
    if (nameEnd === -1 || nameEnd > end) return null;
    if (version === 4) previous = Buffer.concat([previous.subarray(0, kept), index.subarray(nameAt, nameEnd)]);
    const name = version === 4 ? previous : index.subarray(nameAt, nameEnd);
    // Git trusts this length, unless it is the largest that fits.
    const length = index.readUInt16BE(flagsAt) & 0xfff;
    if (length !== Math.min(name.length, 0xfff)) return null;
    if (isLink) links.push(name.toString('utf8'));
    at = version === 4 ? nameEnd + 1 : at + ((nameEnd - at + 8) & ~7);
  }
  return hasOnlyPlainExtensions(index, at, end) ? links : null;
}

/** Git's variable-length number, as in offsets of packs. */
function readOffset(bytes: Buffer, at: number, end: number): { value: number; next: number } | null {
  let next = at;
  let byte = bytes[next++] ?? 0;
  let value = byte & 0x7f;
  while (byte & 0x80) {
    if (next >= end || value > 2 ** 24) return null;
    byte = bytes[next++] as number;
    value = (value + 1) * 128 + (byte & 0x7f);
  }
  return { value, next };
}

/** `link` names a second index, and `sdir` stands for folders whose content is not listed. */
function hasOnlyPlainExtensions(index: Buffer, begin: number, end: number): boolean {
  let at = begin;
  while (at + 8 <= end) {
    if (/^(link|sdir)$/.test(index.toString('latin1', at, at + 4))) return false;
    at += 8 + index.readUInt32BE(at + 4);
  }
  return at === end;
}
