// Programs that a user has installed for himself: Node by nvm, Python by pyenv, Rust by rustup and the like lie in the home folder, which is
// closed. What PATH names of it is shown read only, with the package that it belongs to where its manager is known, and never what holds credentials.
import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join, normalize } from 'node:path';
import { type Mount, under } from './mounts.ts';
import { systemTops } from './system-mounts.ts';

/** Folders that hold all sorts of things besides programs: of these only what is named here is shown. */
const mixed: Record<string, string[]> = {
  '.local': ['bin', 'lib', 'share/pipx', 'share/uv', 'share/mise', 'share/pnpm', 'share/fnm', 'share/virtualenv'],
  '.cargo': ['bin', 'env'],
};
/** What a program needs that lies elsewhere in the home folder. */
const besides: Record<string, string[]> = { '.cargo': ['.rustup'] };
const programs = new Set(['bin', '.bin', 'sbin', 'shims', 'libexec']);
/** What programs have beside their folder. Of a package that is not known nothing else is shown: it may hold anything. */
const beside = ['bin', 'sbin', 'shims', 'lib', 'lib32', 'lib64', 'libexec', 'include', 'share', 'pyvenv.cfg'];
/** Managers, whose packages hold nothing but programs: wherever they lie, and in the home folder only. */
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

/** For a PATH and a home folder; real paths. `workspace` and what lies in it is shown by itself, unless it is null. */
export function toolchainView(path: string, { home, workspace }: { home: string | null; workspace: string | null }): Mount[] {
  const entries = path.split(delimiter).filter((entry) => isAbsolute(entry));
  const roots = new Set(entries.flatMap((entry) => rootsOf(normalize(entry).replace(/(.)\/$/, '$1'), home)));
  const isApart = (root: string) => workspace === null || (!under(root, workspace) && !under(workspace, root));
  const shown = [...roots].filter((root) => isOpen(root, home) && isApart(root));
  const outermost = shown.filter((root) => !shown.some((other) => other !== root && under(root, other))).sort();
  return outermost.flatMap((root): Mount[] => [
    { kind: 'read', path: root },
    ...credentials
      .map((name) => join(root, name))
      .filter((file) => existsSync(file))
      .map((file): Mount => ({ kind: 'hide', path: file, folder: statSync(file).isDirectory() })),
  ]);
}

function rootsOf(entry: string, home: string | null): string[] {
  const places = [...new Set([entry, real(entry)])].filter((place): place is string => place !== null && !isSystem(place));
  return places.flatMap((place) => {
    const ofHome = home !== null && under(place, home) ? place.slice(home.length + 1).split('/') : [];
    const [top = ''] = ofHome;
    const named = (mixed[top] ?? []).map((name) => join(home as string, top, name));
    const also = (besides[top] ?? []).map((name) => join(home as string, name));
    return [...named, ...also, ...(named.some((path) => under(place, path)) ? [] : packageOf(place, { home, top }))];
  });
}

function packageOf(place: string, { home, top }: { home: string | null; top: string }): string[] {
  const above = dirname(place);
  if (!programs.has(basename(place)) || above === home) return [place];
  const isKnown = above.split('/').some((name) => managers.has(name)) || managersOfHome.has(top);
  return isKnown ? [above] : beside.map((name) => join(above, name));
}

function isSystem(path: string): boolean {
  return systemTops.some((top) => under(path, top));
}

/** A folder that is there, and that is neither the home folder nor one above it. */
function isOpen(path: string, home: string | null): boolean {
  if (path === '/' || (home !== null && under(home, path))) return false;
  // One name below the root (/home, /root, /tmp, /var) is somebody's data.
  if (dirname(path) === '/') return false;
  return existsSync(path);
}

function real(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}
