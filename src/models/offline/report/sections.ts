import type { Overview } from '../join.ts';
import { folderOf } from '../languages.ts';
import type { ReadManifest } from '../manifests.ts';
import { byName, code, counted, number, percent, prose, size, some } from '../text.ts';

const shownNames = 15;
const shownLines = 10;

export function entryPoints({ entries }: Overview, manifests: ReadManifest[]): string[] {
  const lines = new Map<string, string[]>();
  const add = (path: string, why: string): void => {
    const reasons = lines.get(path) ?? [];
    lines.set(path, [...reasons, why]);
  };
  for (const manifest of manifests) {
    for (const { path, why } of manifest.entries) add(insideOf(manifest.path, path), `${prose(why, 80)} of ${code(manifest.path)}`);
  }
  for (const { path, why } of entries) add(path, prose(why, 80));
  const all = Array.from(lines, ([path, reasons]) => `- ${code(path)}: ${[...new Set(reasons)].join(', ')}`);
  return limited(all, shownNames);
}

/** Where a path of a manifest lies in the workspace; `pkg.mod:main` is no path and stays. */
function insideOf(manifest: string, path: string): string {
  const folder = folderOf(manifest);
  const bare = path.replace(/^\.\//, '');
  return folder === '' || bare.includes(':') ? bare : `${folder}/${bare}`;
}

export function dependencies(manifests: ReadManifest[]): string[] {
  return manifests.map((manifest) => {
    const { kind, path, runtime, development, whole } = manifest;
    const said = [listed(runtime, 'to run'), listed(development, 'for development')].filter((part) => part !== '');
    return `- ${kind} (${code(path)}): ${said.join('; ') || 'none'}${whole ? '' : ' (it could not be read as a whole)'}`;
  });
}

function listed(names: string[], what: string): string {
  if (names.length === 0) return '';
  const sorted = names.toSorted(byName).map((name) => code(name, 80));
  return `${number(names.length)} ${what}: ${some(sorted, shownNames)}`;
}

const frameworks: [name: string, imported: RegExp][] = [
  ['Vitest', /^vitest$/],
  ['Jest', /^(jest|@jest\/globals|ts-jest)$/],
  ['node:test', /^node:test$/],
  ['Mocha', /^mocha$/],
  ['AVA', /^ava$/],
  ['Playwright', /^@playwright\/test$/],
  ['Cypress', /^cypress$/],
  ['pytest', /^pytest$/],
  ['unittest', /^unittest$/],
  ["Go's testing", /^testing$/],
  ['JUnit', /^(org\.junit|junit)/],
  ['RSpec', /^rspec/],
];

export function tests({ tests: found, codeFiles, folders }: Overview, manifests: ReadManifest[]): string[] {
  if (found.files === 0 && found.cases === 0) return ['No tests were found.'];
  const names = [...found.imports, ...manifests.flatMap(({ runtime, development }) => [...development, ...runtime])];
  const used = frameworks.filter(([, pattern]) => names.some((name) => pattern.test(name))).map(([name]) => name);
  // Tests of Rust are marked, not imported.
  if (folders.some(({ tests: own, languages }) => own.cases > 0 && languages[0]?.[0] === 'Rust')) used.push('cargo test');
  const commands = manifests.flatMap(({ testCommand, path }) => (testCommand === '' ? [] : [`${code(testCommand, 120)} (${code(path)})`]));
  const framework = used.length === 0 ? 'Framework unknown' : `Framework by imports and dependencies: ${used.join(', ')}`;
  return [
    `${framework}. ${counted(found.files, 'test file')} with ${counted(found.cases, 'test case')}: ${percent(found.files, codeFiles)} of the code files.`,
    ...(commands.length === 0 ? [] : ['', `Test commands: ${some(commands, 5)}.`]),
  ];
}

export function todos({ todos: { count, kinds, first } }: Overview): string[] {
  if (count === 0) return ['None were found.'];
  const shown = first.slice(0, shownLines).map(({ path, line, text }) => `- ${code(`${path}:${line}`)} ${code(text, 120)}`);
  const head = `${counted(count, 'mark')}: ${kinds.map(([kind, each]) => `${prose(kind, 10)} ${number(each)}`).join(', ')}.`;
  return [count > shown.length ? `${head} The first ${shown.length}:` : head, '', ...shown];
}

export function largest({ largest: files }: Overview): string[] {
  return files.slice(0, shownLines).map(({ path, bytes, lines }, index) => {
    return `${index + 1}. ${code(path)}: ${size(bytes)}${lines === null ? '' : `, ${counted(lines, 'line')}`}`;
  });
}

export function imported({ importedFiles, importedPackages }: Overview): string[] {
  const lines = (ranking: [string, number][]): string[] =>
    ranking.slice(0, shownLines).map(([name, count]) => `- ${code(name)}: ${counted(count, 'time')}`);
  const own = importedFiles.length === 0 ? [] : ['Files of its own:', '', ...lines(importedFiles)];
  const others = importedPackages.length === 0 ? [] : ['Packages:', '', ...lines(importedPackages)];
  return [...own, ...(own.length > 0 && others.length > 0 ? [''] : []), ...others];
}

function limited(lines: string[], max: number): string[] {
  return lines.length <= max ? lines : [...lines.slice(0, max), `- and ${number(lines.length - max)} more`];
}
