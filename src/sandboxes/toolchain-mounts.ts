// Shows programs that users install in their home directory, which is otherwise hidden: Node from nvm, Python from pyenv, Rust from rustup and the like.
// Directories in PATH are mounted read-only, with the whole package if its manager is known, and without files that contain credentials.
import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join, normalize } from 'node:path';
import { isPathUnder, type Mount } from './mounts.ts';
import { systemTops } from './system-mounts.ts';

/** Directories that contain more than programs; only the listed parts are shown. */
const partlyShown: Record<string, string[]> = {
  '.local': ['bin', 'lib', 'share/pipx', 'share/uv', 'share/mise', 'share/pnpm', 'share/fnm', 'share/virtualenv'],
  '.cargo': ['bin', 'env'],
};
/** Directories that programs need elsewhere in the home directory. */
const alsoNeeded: Record<string, string[]> = { '.cargo': ['.rustup'] };
const programDirectories = new Set(['bin', '.bin', 'sbin', 'shims', 'libexec']);
/** What is shown next to a directory of programs if its package manager is unknown; other parts may contain anything. */
const packageParts = ['bin', 'sbin', 'shims', 'lib', 'lib32', 'lib64', 'libexec', 'include', 'share', 'pyvenv.cfg'];
/** Package managers whose packages contain only programs: by name anywhere, and by name in the home directory only. */
const managers = new Set(
  (
    '.asdf .bun .deno .dotnet .elan .fnm .fvm .ghcup .goenv .jenv .juliaup .linuxbrew .mise .n .nodenv .nvm .phpenv .pixi .plenv .proto .pyenv .rbenv .rustup .rvm ' +
    '.rye .sdkman .swiftly .tfenv .volta node_modules'
  ).split(' '),
);
const managersOfHome = new Set(['go', 'n', 'anaconda3', 'mambaforge', 'micromamba', 'miniconda3', 'miniforge3']);
const credentials = [
  '.condarc',
  '.env',
  '.yarnrc.yml',
  'credentials',
  'credentials.toml',
  'credentials.json',
  '.npmrc',
  '.netrc',
  '.pypirc',
  'auth.json',
  '.git-credentials',
];

/** For a PATH and real paths of the home directory and the workspace. Paths inside the workspace are left out unless it is null. */
export function toolchainMounts(path: string, { home, workspace }: { home: string | null; workspace: string | null }): Mount[] {
  const entries = path.split(delimiter).filter((entry) => isAbsolute(entry));
  const roots = new Set(entries.flatMap((entry) => findRoots(normalize(entry).replace(/(.)\/$/, '$1'), home)));
  const isApart = (root: string) => workspace === null || (!isPathUnder(root, workspace) && !isPathUnder(workspace, root));
  const shown = [...roots].filter((root) => canShow(root, home) && isApart(root));
  const outermost = shown.filter((root) => !shown.some((other) => other !== root && isPathUnder(root, other))).sort();
  return outermost.flatMap((root): Mount[] => [
    { kind: 'read', path: root },
    ...credentials
      .map((name) => join(root, name))
      .filter((file) => existsSync(file))
      .map((file): Mount => ({ kind: 'hide', path: file, folder: statSync(file).isDirectory() })),
  ]);
}

function findRoots(entry: string, home: string | null): string[] {
  const paths = [...new Set([entry, resolveOrNull(entry)])].filter((path): path is string => path !== null && !isSystem(path));
  return paths.flatMap((path) => {
    const [top = ''] = home !== null && isPathUnder(path, home) ? path.slice(home.length + 1).split('/') : [];
    const parts = (partlyShown[top] ?? []).map((name) => join(home as string, top, name));
    const also = (alsoNeeded[top] ?? []).map((name) => join(home as string, name));
    return [...parts, ...also, ...(parts.some((part) => isPathUnder(path, part)) ? [] : packageRoots(path, { home, top }))];
  });
}

function packageRoots(path: string, { home, top }: { home: string | null; top: string }): string[] {
  const parent = dirname(path);
  if (!programDirectories.has(basename(path)) || parent === home) return [path];
  const isKnown = parent.split('/').some((name) => managers.has(name)) || managersOfHome.has(top);
  return isKnown ? [parent] : packageParts.map((name) => join(parent, name));
}

function isSystem(path: string): boolean {
  return systemTops.some((top) => isPathUnder(path, top));
}

/** Whether a directory exists and is neither the home directory nor above it. */
function canShow(path: string, home: string | null): boolean {
  if (path === '/' || (home !== null && isPathUnder(home, path))) return false;
  // Directories directly below the root (/home, /root, /tmp, /var) contain user data.
  if (dirname(path) === '/') return false;
  return existsSync(path);
}

function resolveOrNull(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}
