// The files that a command writes because its words name them, and whether they may be protected ones.
import { basename } from 'node:path';
import { isProtected, isUnder, protectedAliases } from '../../files/paths.ts';
import { findTargets, type PathScope } from './command-paths.ts';
import { type Program, writtenOperands } from './programs/program.ts';
import type { ShellWord } from './read-word.ts';

/** If only the last operand is written it may be a directory; the files of the other operands are then created in it. */
export function findWrittenFiles(words: ShellWord[], program: Program): string[] {
  const written = writtenOperands(words, program);
  if (written === null) return [];
  const paths = written.paths.map(({ text }) => text);
  if (written.which === 'all') return paths;
  const last = paths.at(-1);
  if (last === undefined) return [];
  const sources = paths.slice(0, -1);
  const name = basename(words[0]?.text ?? '');
  // A link to a single operand is created in the current directory.
  if (name === 'ln' && paths.length === 1) return [last, basename(last)];
  const isMove = words.some(({ text }, index) => index < 2 && basename(text) === 'mv');
  const folders = findTargetFolders(words);
  // With `--parents` the folders of a source are created too.
  const copied = [last, ...folders].flatMap((folder) =>
    (folders.length > 0 ? paths : sources).flatMap((path) => [`${folder}/${basename(path)}`, `${folder}/${path}`]),
  );
  return [last, ...(isMove ? paths : []), ...copied];
}

/** The values of `-t` and `--target-directory`, under which all operands are created. */
function findTargetFolders(words: ShellWord[]): string[] {
  return words.flatMap(({ text }, index) => {
    const attached = /^(?:-[a-zA-Z]*t|--target-directory=)(.+)$/.exec(text)?.[1];
    if (attached !== undefined) return [attached];
    return /^(-[a-zA-Z]*t|--target-directory)$/.test(text) ? (words[index + 1]?.text ?? []) : [];
  });
}

/** Returns why the command may write something protected, or null. */
export function findWriteHazard(words: ShellWord[], program: Program, scope: PathScope): string | null {
  const written = writtenOperands(words, program);
  if (written === null) return null;
  const unknown = written.paths.find(({ literal, text }) => !literal && !/^(\.\/)?[^*?[./][^*?[/]*\//.test(text) && !/^[<>]\(/.test(text));
  const pathspec = written.paths.find((word) => isPathspec(words, word));
  if (pathspec) return `which files \`${pathspec.text}\` matches is unknown`;
  if (unknown) return `which files \`${unknown.text}\` matches is unknown`;
  const sources = written.which === 'last' ? written.paths.slice(0, -1) : [];
  const last = written.paths.at(-1)?.text ?? '';
  const isTop = written.which === 'last' && findTargets(last, scope).includes('.');
  if (isTop) {
    // The names of the copied files decide whether they replace protected files at the top of the workspace.
    const open = sources.find(({ literal, text }) => !literal || /^\.*$/.test(basename(text)));
    const tree = words.find(({ text }) => /^-[a-zA-Z]*[rRa]|^--(rec|arc)/.test(text));
    if (tree) return 'it copies a tree over the workspace';
    if (open) return `\`${open.text}\` may replace a protected file`;
  }
  const all = [...sources.map(({ text }) => text), ...findWrittenFiles(words, program)];
  for (const path of isTop ? all.filter((each) => each !== last) : all) {
    for (const each of findTargets(path, scope)) if (isProtected(each) || containsProtected(each)) return `\`${path}\` is protected`;
  }
  return null;
}

/** Whether git expands an operand itself. A pattern below a folder stays there. */
function isPathspec(words: readonly ShellWord[], { text }: ShellWord): boolean {
  return isGit(words) && hasPathspecMagic(text) && !/^(\.\/)?[^*?[\\.:/][^*?[\\/]*\/(?!.*\.\.)/.test(text);
}

/** Whether git does not take an operand literally. */
export function hasPathspecMagic(text: string): boolean {
  return text.startsWith(':') || /[*?[\\]/.test(text);
}

function isGit([name]: readonly ShellWord[]): boolean {
  return basename(name?.text ?? '') === 'git';
}

/** Writing, moving or removing a directory affects the protected paths in it. */
function containsProtected(path: string): boolean {
  return path === '.' || protectedAliases.some((each) => isUnder(each, path));
}
