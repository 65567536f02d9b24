/** What a path says by itself: language, generated or not, test or not. */

type Kind = 'code' | 'docs' | 'data';

const table: [name: string, kind: Kind, extensions: string][] = [
  ['TypeScript', 'code', 'ts tsx mts cts'],
  ['JavaScript', 'code', 'js jsx mjs cjs'],
  ['Vue', 'code', 'vue'],
  ['Svelte', 'code', 'svelte'],
  ['Python', 'code', 'py pyi'],
  ['Go', 'code', 'go'],
  ['Rust', 'code', 'rs'],
  ['Java', 'code', 'java'],
  ['Kotlin', 'code', 'kt kts'],
  ['Scala', 'code', 'scala'],
  ['Groovy', 'code', 'groovy gradle'],
  ['C', 'code', 'c h'],
  ['C++', 'code', 'cc cpp cxx hh hpp hxx'],
  ['C#', 'code', 'cs'],
  ['Ruby', 'code', 'rb'],
  ['PHP', 'code', 'php'],
  ['Swift', 'code', 'swift'],
  ['Objective-C', 'code', 'm mm'],
  ['Dart', 'code', 'dart'],
  ['Elixir', 'code', 'ex exs'],
  ['Erlang', 'code', 'erl hrl'],
  ['Haskell', 'code', 'hs'],
  ['OCaml', 'code', 'ml mli'],
  ['Lua', 'code', 'lua'],
  ['Perl', 'code', 'pl pm'],
  ['R', 'code', 'r'],
  ['Julia', 'code', 'jl'],
  ['Zig', 'code', 'zig'],
  ['Shell', 'code', 'sh bash zsh fish'],
  ['PowerShell', 'code', 'ps1 psm1'],
  ['SQL', 'code', 'sql'],
  ['HTML', 'code', 'html htm'],
  ['CSS', 'code', 'css scss sass less'],
  ['Nix', 'code', 'nix'],
  ['Terraform', 'code', 'tf'],
  ['Protocol Buffers', 'code', 'proto'],
  ['GraphQL', 'code', 'graphql gql'],
  ['Markdown', 'docs', 'md mdx markdown'],
  ['reStructuredText', 'docs', 'rst'],
  ['AsciiDoc', 'docs', 'adoc'],
  ['Text', 'docs', 'txt'],
  ['JSON', 'data', 'json jsonc json5'],
  ['YAML', 'data', 'yml yaml'],
  ['TOML', 'data', 'toml'],
  ['XML', 'data', 'xml'],
  ['INI', 'data', 'ini cfg conf properties'],
  ['CSV', 'data', 'csv tsv'],
];

const byExtension = new Map(table.flatMap(([name, , extensions]) => extensions.split(' ').map((extension) => [extension, name] as const)));
const kinds = new Map<string, Kind>([...table.map(([name, kind]) => [name, kind] as const), ['Make', 'code'], ['Docker', 'code']]);
const byFileName = new Map([
  ['makefile', 'Make'],
  ['gnumakefile', 'Make'],
  ['dockerfile', 'Docker'],
  ['containerfile', 'Docker'],
]);

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** '' for a path without folders. */
export function folderOf(path: string): string {
  return path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
}

/** Lower case; '' where there is none. */
export function extensionOf(path: string): string {
  const name = nameOf(path);
  const dot = name.lastIndexOf('.');
  return dot > 0 ? name.slice(dot + 1).toLowerCase() : '';
}

/** Null where the name says nothing: pictures, archives, anything unknown. */
export function languageOf(path: string): string | null {
  return byFileName.get(nameOf(path).toLowerCase()) ?? byExtension.get(extensionOf(path)) ?? null;
}

export function isCodeLanguage(language: string): boolean {
  return kinds.get(language) === 'code';
}

export function isCode(path: string): boolean {
  const language = languageOf(path);
  return language !== null && isCodeLanguage(language) && !isGenerated(path);
}

const locks = new Set(['package-lock.json', 'npm-shrinkwrap.json', 'pnpm-lock.yaml', 'composer.lock', 'go.sum', 'go.work.sum']);

/** Written by programs: counted as files, but not read, ranked or searched. */
export function isGenerated(path: string): boolean {
  const name = nameOf(path).toLowerCase();
  return locks.has(name) || /\.(lock|min\.js|min\.css|map|snap)$/.test(name) || /(_pb2\.py|\.pb\.go|\.g\.dart)$/.test(name);
}

const testNames = [
  /\.(test|spec)\.[cm]?[jt]sx?$/,
  /^test_.*\.py$/,
  /_test\.(py|go|cc|cpp|exs|dart)$/,
  /(Test|Tests|IT|Spec)\.(java|kt|scala|cs|groovy)$/,
  /_spec\.rb$/,
  /_test\.rb$/,
];

/** Whether the name alone makes it a test. */
export function isTestName(path: string): boolean {
  const name = nameOf(path);
  return testNames.some((pattern) => pattern.test(name));
}

export function isInTestFolder(path: string): boolean {
  return /(^|\/)(tests?|__tests__|specs?)\//i.test(path);
}

export function isFixture(path: string): boolean {
  return /(^|\/)(fixtures?|__fixtures__|testdata|snapshots|__snapshots__)\//i.test(path);
}

export function isReadme(path: string): boolean {
  return /^readme(\.(md|mdx|markdown|rst|txt|adoc))?$/i.test(nameOf(path));
}

/** At the top of a workspace: what others wrote or what a program makes. */
export function isLeftOut(name: string): boolean {
  return isLeftOutBelow(name) || /^(build|target|vendor)$/i.test(name);
}

/** Further down a folder `build` may well be source. */
export function isLeftOutBelow(name: string): boolean {
  return name.startsWith('.') || /^(node_modules|bower_components|__pycache__|venv|dist|coverage)$/i.test(name);
}

/** Whether a path below a surveyed folder belongs to the survey. */
export function isSurveyed(path: string): boolean {
  const [, ...below] = path.split('/');
  return !below.some(isLeftOutBelow) && !path.startsWith('.');
}
