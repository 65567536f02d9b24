import type { FolderData, SurveyData } from './data.ts';
import { folderOf, isCodeLanguage } from './languages.ts';
import type { ReadManifest } from './manifests.ts';
import { addTo, byName, ranked } from './text.ts';

/** What the surveys of all folders say together. */
export interface Overview {
  /** By name; the files at the top last. */
  folders: FolderData[];
  files: number;
  codeFiles: number;
  bytes: number;
  sized: number;
  languages: { name: string; files: number; bytes: number; isCode: boolean }[];
  entries: FolderData['entries'];
  tests: FolderData['tests'];
  todos: FolderData['todos'];
  largest: FolderData['largest'];
  importedFiles: [string, number][];
  importedPackages: [string, number][];
  /** What was cut somewhere. */
  cut: Set<string>;
}

export function join(surveys: SurveyData[], manifests: ReadManifest[]): Overview {
  const folders = foldersOf(surveys);
  const languages = languagesOf(folders);
  const imports = importsOf(folders, manifests);
  return {
    folders,
    files: sum(folders, ({ files }) => files),
    codeFiles: sum(languages, ({ files, isCode }) => (isCode ? files : 0)),
    bytes: sum(folders, ({ bytes }) => bytes),
    sized: sum(folders, ({ sized }) => sized),
    languages,
    entries: folders.flatMap(({ entries }) => entries),
    tests: {
      files: sum(folders, ({ tests }) => tests.files),
      cases: sum(folders, ({ tests }) => tests.cases),
      imports: [...new Set(folders.flatMap(({ tests }) => tests.imports))].sort(byName),
    },
    todos: {
      count: sum(folders, ({ todos }) => todos.count),
      kinds: ranked(totals(folders.map(({ todos }) => todos.kinds))),
      first: folders.flatMap(({ todos }) => todos.first).sort((a, b) => byName(a.path, b.path) || a.line - b.line),
    },
    largest: folders.flatMap(({ largest }) => largest).sort((a, b) => b.bytes - a.bytes || byName(a.path, b.path)),
    ...imports,
    cut: new Set(folders.flatMap(({ cut }) => cut)),
  };
}

/** Each folder once, whatever children claim. */
function foldersOf(surveys: SurveyData[]): FolderData[] {
  const byFolder = new Map(surveys.flatMap(({ folders }) => folders.map((data) => [data.folder, data] as const)));
  const names = [...byFolder.keys()].filter((name) => name !== null).sort(byName);
  return [...names, null].flatMap((name) => byFolder.get(name) ?? []);
}

function languagesOf(folders: FolderData[]): Overview['languages'] {
  const files = totals(folders.map(({ languages }) => languages.map(([name, count]) => [name, count])));
  const bytes = totals(folders.map(({ languages }) => languages.map(([name, , count]) => [name, count])));
  return ranked(files).map(([name, count]) => ({ name, files: count, bytes: bytes.get(name) ?? 0, isCode: isCodeLanguage(name) }));
}

/** A folder does not know the files of another: `src/x` in one is `src/x.ts` in the other, and a package may be one of the project's own. */
function importsOf(folders: FolderData[], manifests: ReadManifest[]): Pick<Overview, 'importedFiles' | 'importedPackages'> {
  const given = totals(folders.map(({ importedFiles }) => importedFiles));
  const byStem = new Map<string, string>();
  for (const path of [...given.keys()].sort(byName))
    if (/\.\w+$/.test(path)) byStem.set(path.replace(/(\/(index|__init__))?\.\w+$/, ''), path);
  const files = new Map<string, number>();
  for (const [path, count] of given) addTo(files, byStem.get(path) ?? path, count);
  const own = ownNames(folders, manifests);
  const packages = new Map<string, number>();
  for (const [name, count] of totals(folders.map(({ importedPackages }) => importedPackages))) {
    const inner = own.find((each) => name === each.name || name.startsWith(`${each.name}/`) || name.startsWith(`${each.name}.`));
    if (inner === undefined) addTo(packages, name, count);
    else addTo(files, inner.place === null ? name : inner.place + name.slice(inner.name.length), count);
  }
  return { importedFiles: ranked(files), importedPackages: ranked(packages) };
}

interface OwnName {
  name: string;
  place: string | null;
}

/** Names by which a project imports itself, and where that lies if the name says it. Of manifests, and of folders that hold Python. */
function ownNames(folders: FolderData[], manifests: ReadManifest[]): OwnName[] {
  const python = folders.filter(({ languages }) => languages.some(([name]) => name === 'Python'));
  const names = python.flatMap(({ folder, parts }) => [folder ?? '', ...parts.map(([name]) => name)]);
  const projects = manifests.flatMap(({ name, kind, path }): OwnName[] => {
    if (kind === 'Go') return [{ name, place: folderOf(path) || '.' }];
    return [name, name.replaceAll('-', '_')].map((each) => ({ name: each, place: null }));
  });
  return [...projects, ...names.map((name) => ({ name, place: null }))].filter(({ name }) => name !== '');
}

function totals(lists: Iterable<readonly [string, number]>[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const list of lists) for (const [name, count] of list) addTo(counts, name, count);
  return counts;
}

function sum<T>(items: T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}
