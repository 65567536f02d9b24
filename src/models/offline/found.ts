import { grep, withEndings } from './calls.ts';
import type { Call, Conversation } from './conversation.ts';
import { importRuleOf } from './imports.ts';
import { extensionOf, isCode, isFixture, isGenerated, isInTestFolder, isTestName } from './languages.ts';
import { maxGreps, maxRules, splitFiles } from './limits.ts';
import type { Listed } from './listed.ts';
import { startPattern, testPattern, todoPattern } from './marks.ts';
import { type Match, parseMatches, type Slice } from './outputs.ts';
import { addTo, byName, ranked } from './text.ts';

/** What is looked for in lines. */
export const subjects = ['imports', 'todos', 'tests', 'starts'] as const;
export type Subject = (typeof subjects)[number];

export interface Search {
  folder: string;
  /** What its lines are looked at for. */
  subjects: readonly Subject[];
  call: Call;
}

/**
 * The searches, the fullest folder first; '' stands for the files at the top. An output holds a thousand lines at most, so that a large
 * folder is searched subfolder by subfolder where it has the run to itself.
 */
function searchesOf({ files }: Listed): Search[] {
  const folders = [...Map.groupBy(files, topOf)].sort((a, b) => b[1].length - a[1].length || byName(a[0], b[0]));
  return folders.flatMap(([folder, own]) => folderSearches(folder, own, folders.length === 1));
}

/** Those that are made: as many as fit into a turn. */
export function searchCalls(listed: Listed): Call[] {
  return searchesOf(listed)
    .slice(0, maxGreps)
    .map(({ call }) => call);
}

function folderSearches(folder: string, files: string[], alone: boolean): Search[] {
  const code = files.filter(isCode);
  const tests = code.filter((path) => isTestName(path) || isInTestFolder(path));
  const byRule = [...Map.groupBy(code, (path) => importRuleOf(extensionOf(path)))].sort((a, b) => b[1].length - a[1].length);
  const imports = byRule.flatMap(([rule, own]) => (rule === null ? [] : [{ rule, own }])).slice(0, maxRules);
  const lists = imports.map(({ rule, own }) => partsOf(folder, own, alone).map((part) => search(folder, part, ['imports'], rule)));
  if (code.length === 0) return [search(folder, folder, ['todos'], { pattern: todoPattern })];
  // Folders that share a run get one search for all marks, so that there is room for the others.
  if (!alone) return [search(folder, folder, marks, { pattern: `${todoPattern}|${testPattern}|${startPattern}` }), ...inTurns(lists)];
  lists.unshift(partsOf(folder, tests, true).map((part) => search(folder, part, ['tests'], { pattern: testPattern })));
  const whole = { todos: todoPattern, starts: startPattern };
  return [
    ...(['todos', 'starts'] as const).map((subject) => search(folder, folder, [subject], { pattern: whole[subject] })),
    ...inTurns(lists),
  ];
}

const marks = ['todos', 'tests', 'starts'] as const;

/** The first of each list, then the second of each: a turn may not have room for all. */
function inTurns<T>(lists: T[][]): T[] {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, index) => lists.flatMap((list) => list.slice(index, index + 1))).flat();
}

/** One search of `part`: the folder, or a subfolder of it; `part/.` are the files directly in it. */
function search(folder: string, part: string, subjects: readonly Subject[], what: { pattern: string; extensions?: string[] }): Search {
  const own = folder === '' || part.endsWith('/.');
  const endings = what.extensions && withEndings(what.extensions);
  // Without the slash a glob holds for every folder below.
  return { folder, subjects, call: grep(what.pattern, part.replace(/\/\.$/, '') || '.', own ? `/${endings ?? '*'}` : endings) };
}

/** The folder as a whole, or its subfolders where it is large and has the run to itself: the fullest first. */
function partsOf(folder: string, files: string[], alone: boolean): string[] {
  if (!alone || folder === '' || files.length <= splitFiles) return [folder];
  const counts = new Map<string, number>();
  for (const path of files) {
    const [, part = '.', ...rest] = path.split('/');
    addTo(counts, `${folder}/${rest.length === 0 ? '.' : part}`);
  }
  return ranked(counts).map(([part]) => part);
}

/** Lines that the searches found. `cut` holds `folder subject` where there may be more. */
export interface Found {
  lines: Record<Subject, Match[]>;
  cut: ReadonlySet<string>;
}

/** Where a folder was not searched (there is no `grep`, or it failed), what was read of its files stands in. */
export function foundOf(listed: Listed, talk: Conversation, slices: ReadonlyMap<string, Slice>): Found {
  const lines: Record<Subject, Match[]> = { imports: [], todos: [], tests: [], starts: [] };
  const cut = new Set<string>();
  const planned = new Set<string>();
  const searched = new Set<string>();
  for (const search of searchesOf(listed)) {
    const result = talk.result(search.call);
    const found = result?.ok ? parseMatches(result.text, listed.known) : null;
    const matches = (found?.matches ?? []).filter(({ path }) => topOf(path) === search.folder && !isOthers(path));
    for (const subject of search.subjects) {
      const key = `${search.folder} ${subject}`;
      planned.add(key);
      if (found !== null) searched.add(key);
      if (found === null || found.cut) cut.add(key);
      lines[subject].push(...matches);
    }
  }
  for (const path of listed.files) {
    const folder = topOf(path);
    const slice = isOthers(path) ? undefined : slices.get(path);
    for (const subject of subjects) {
      if (!slice || searched.has(`${folder} ${subject}`) || !planned.has(`${folder} ${subject}`)) continue;
      lines[subject].push(...slice.lines.map((text, index) => ({ path, line: index + 1, text: text.slice(0, 500) })));
    }
  }
  return { lines, cut };
}

/** Lines of programs and of fixtures say nothing about the project. */
function isOthers(path: string): boolean {
  return isGenerated(path) || isFixture(path);
}

/** The folder at the top that holds a path; '' for a file at the top. */
export function topOf(path: string): string {
  return path.includes('/') ? path.slice(0, path.indexOf('/')) : '';
}
