import { headCommentOf, readmeOf } from './about.ts';
import type { FolderData } from './data.ts';
import type { Evidence } from './evidence.ts';
import { type Found, type Subject, subjects, topOf } from './found.ts';
import { importRuleOf } from './imports.ts';
import { extensionOf, folderOf, isGenerated, isReadme, languageOf } from './languages.ts';
import { isManifest } from './manifests.ts';
import { isTestFile, isTestLine, todoIn } from './marks.ts';
import { largestOf, startsOf } from './picks.ts';
import { addTo, byName, plain, ranked, sentence } from './text.ts';

/** What the evidence says of one folder; null: of the files at the top. Lists are whole here; whoever hands them on shortens them. */
export function folderDataOf(folder: string | null, evidence: Evidence): FolderData {
  const files = evidence.files.filter((path) => topOf(path) === (folder ?? ''));
  const lines = linesOf(folder, evidence.found);
  const sized = files.filter((path) => evidence.sizes.has(path));
  const tests = testsOf(files, lines.tests, lines.imports, evidence.known);
  const imported = importedBy(lines.imports, evidence.known);
  const entries = startsOf(folder, files, evidence.found);
  return {
    folder,
    files: files.length,
    bytes: sized.reduce((sum, path) => sum + (evidence.sizes.get(path) ?? 0), 0),
    sized: sized.length,
    languages: languagesOf(files, evidence.sizes),
    cut: cutOf(folder, evidence, sized.length < files.length),
    about: aboutOf(folder, files, evidence, entries),
    tests,
    todos: todosOf(lines.todos),
    entries,
    largest: largestOf(files, evidence.sizes).map(({ path, bytes }) => ({ path, bytes, lines: lineCount(path, evidence) })),
    importedFiles: ranked(imported.file),
    importedPackages: ranked(imported.package),
    parts: ranked(partsOf(folder, files)),
    manifests: files.filter(isManifest),
  };
}

type Lines = Found['lines'];

function linesOf(folder: string | null, { lines }: Found): Lines {
  const own = (subject: Subject) => lines[subject].filter(({ path }) => topOf(path) === (folder ?? ''));
  return { imports: own('imports'), todos: own('todos'), tests: own('tests'), starts: own('starts') };
}

function cutOf(folder: string | null, evidence: Evidence, unsized: boolean): string[] {
  const name = folder ?? '';
  const searches = subjects.filter((subject) => evidence.found.cut.has(`${name} ${subject}`));
  return [...(evidence.cut.has(name) ? ['files'] : []), ...(unsized ? ['sizes'] : []), ...searches];
}

function languagesOf(files: string[], sizes: ReadonlyMap<string, number>): FolderData['languages'] {
  const counts = new Map<string, number>();
  const bytes = new Map<string, number>();
  for (const path of files) {
    const language = isGenerated(path) ? null : languageOf(path);
    if (language === null) continue;
    addTo(counts, language);
    addTo(bytes, language, sizes.get(path) ?? 0);
  }
  return ranked(counts).map(([language, count]) => [language, count, bytes.get(language) ?? 0]);
}

function testsOf(files: string[], declared: Lines['tests'], imports: Lines['imports'], known: ReadonlySet<string>): FolderData['tests'] {
  const cases = declared.filter(({ path, text }) => isTestLine(text, path));
  const declaring = new Set(cases.map(({ path }) => path));
  const tests = new Set(files.filter((path) => isTestFile(path, declaring.has(path))));
  const imported = importedBy(
    imports.filter(({ path }) => tests.has(path)),
    known,
  );
  const tops = Array.from(imported.file.keys(), (path) => topOf(path) || path);
  return { files: tests.size, cases: cases.length, imports: [...new Set([...tops, ...imported.package.keys()])].sort(byName) };
}

function importedBy(lines: Lines['imports'], known: ReadonlySet<string>): { file: Map<string, number>; package: Map<string, number> } {
  const counts = { file: new Map<string, number>(), package: new Map<string, number>() };
  for (const { path, text } of lines) {
    const rule = importRuleOf(extensionOf(path));
    for (const { kind, name } of rule?.read(text, path, known) ?? []) if (name !== '') addTo(counts[kind], plain(name, 200));
  }
  return counts;
}

function todosOf(lines: Lines['todos']): FolderData['todos'] {
  const kinds = new Map<string, number>();
  const all = lines.flatMap(({ path, line, text }) => {
    const todo = todoIn(text, path);
    if (todo === null) return [];
    addTo(kinds, todo.kind);
    return [{ path, line, text: plain(todo.text, 120) }];
  });
  const first = all.sort((a, b) => byName(a.path, b.path) || a.line - b.line);
  return { count: all.length, kinds: ranked(kinds), first };
}

/** Known only of files that were read to their end. */
function lineCount(path: string, { slices }: Evidence): number | null {
  const slice = slices.get(path);
  return slice?.complete ? slice.lines.length : null;
}

/** What others import says what a folder is for, sooner than what is started. */
function isDoor(path: string): boolean {
  return /(^|\/)(index|lib|mod|__init__)\.\w+$/.test(path);
}

/** Its README says it, or the head of an entry point that lies in it; one further down speaks for its own folder only. */
function aboutOf(folder: string | null, files: string[], { slices }: Evidence, entries: FolderData['entries']): string {
  if (folder === null) return '';
  const readme = files.find((path) => folderOf(path) === folder && isReadme(path) && slices.has(path));
  const text = readme === undefined ? '' : readmeOf(slices.get(readme)?.lines ?? []).text;
  if (text !== '') return sentence(text, 160);
  const own = entries.filter(({ path }) => [folder, `${folder}/src`].includes(folderOf(path)));
  for (const { path } of own.toSorted((a, b) => Number(isDoor(b.path)) - Number(isDoor(a.path)))) {
    const comment = headCommentOf(path, slices.get(path)?.lines ?? []);
    if (comment !== '') return comment;
  }
  return '';
}

function partsOf(folder: string | null, files: string[]): Map<string, number> {
  const counts = new Map<string, number>();
  const start = folder === null ? 0 : folder.length + 1;
  for (const path of files) {
    const name = topOf(path.slice(start));
    if (name !== '') addTo(counts, name);
  }
  return counts;
}
