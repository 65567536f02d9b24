// The survey of a scope: which calls it takes, and what their results say. A scope is a list of folders at the top of the workspace, in which
// `.` stands for the files at the top. Everything is derived from the conversation, so that every look at it gives the same calls.
import type { Call, SurveyConversation } from './conversation.ts';
import {
  fileLanguage,
  findTodo,
  introduceReadme,
  introduceSource,
  isFixture,
  isReadme,
  isSkipped,
  isSurveyed,
  isTestCase,
  linePattern,
  parentFolder,
} from './files.ts';
import { compareNames, formatNamedCount, rankNames, toPlainLine } from './format.ts';
import type { FolderSurvey, Survey } from './message.ts';
import {
  createGlobCall,
  createGrepCall,
  createListCall,
  createReadCall,
  parseListing,
  parseMatches,
  parsePaths,
  parseRead,
} from './tools.ts';

/** A folder with more files is searched subfolder by subfolder, because a search shows 1,000 lines at most. */
const splitFiles = 100;
const maxSubfolders = 50;
/** Folders listed for the sizes of their files. */
const maxSizedFolders = 100;
const introductionLines = 60;

/** Lists the folders; then the subfolders of those with more files than one look shows. */
export function* listingStages(scope: string[], conversation: SurveyConversation): Generator<Call[]> {
  yield scope.flatMap((folder) => [createListCall(folder), createGlobCall(folder)]);
  yield scope.flatMap((folder) => subfolderCalls(folder, conversation));
}

/** Searches lines, reads introductions and collects sizes. */
export function detailCalls(scope: string[], conversation: SurveyConversation): Call[] {
  const folders = scope.map((folder) => ({ folder, paths: findFiles(folder, conversation).paths }));
  const searches = folders.flatMap(({ folder, paths }) => searchCalls(folder, paths, scope.length === 1));
  return [...searches, ...folders.flatMap(introductionCalls), ...folders.flatMap(({ paths }) => sizeCalls(paths))];
}

export function collectSurvey(scope: string[], conversation: SurveyConversation): Survey {
  const calls = [...[...listingStages(scope, conversation)].flat(), ...detailCalls(scope, conversation)];
  const folders = scope.map((folder) => surveyFolder(folder, conversation, scope.length === 1));
  return { folders, problems: describeProblems(calls, conversation) };
}

function subfolderCalls(folder: string, conversation: SurveyConversation): Call[] {
  const whole = conversation.result(createGlobCall(folder));
  if (folder === '.' || !whole?.ok || parsePaths(whole).complete) return [];
  const { folders } = parseListing(conversation.result(createListCall(folder)));
  const names = folders.filter((name) => !isSkipped(name));
  return names.slice(0, maxSubfolders).map((name) => createGlobCall(`${folder}/${name}`));
}

function findFiles(folder: string, conversation: SurveyConversation): { paths: string[]; complete: boolean } {
  const whole = parsePaths(conversation.result(createGlobCall(folder)));
  const parts = subfolderCalls(folder, conversation).flatMap((call) => parsePaths(conversation.result(call)).paths);
  const direct = whole.complete ? [] : listFiles(folder, conversation).map(([path]) => path);
  const isInside = (path: string): boolean => (folder === '.' ? !path.includes('/') : path.startsWith(`${folder}/`));
  const paths = new Set([...whole.paths, ...direct, ...parts].filter((path) => isInside(path) && isSurveyed(path)));
  return { paths: [...paths].sort(compareNames), complete: whole.complete };
}

/** The files directly in a folder, with their sizes. */
function listFiles(folder: string, conversation: SurveyConversation): [path: string, bytes: number][] {
  const { files } = parseListing(conversation.result(createListCall(folder)));
  return files.map(({ name, bytes }) => [folder === '.' ? name : `${folder}/${name}`, bytes]);
}

function searchCalls(folder: string, paths: string[], isAlone: boolean): Call[] {
  if (paths.length === 0) return [];
  const isSplit = isAlone && paths.length > splitFiles;
  const parts = isSplit ? rankSubfolders(folder, paths).slice(0, maxSubfolders) : [];
  const direct = folder === '.' || isSplit;
  return [createGrepCall(linePattern, folder, { direct }), ...parts.map(({ name }) => createGrepCall(linePattern, `${folder}/${name}`))];
}

function rankSubfolders(folder: string, paths: string[]): FolderSurvey['subfolders'] {
  return rankNames(paths.map((path) => /^([^/]+)\//.exec(path.slice(folder.length + 1))?.[1] ?? null));
}

/** What may say what a folder is for: its README, or the file that others import or start. */
function introductionCalls({ folder, paths }: { folder: string; paths: string[] }): Call[] {
  const near = paths.filter((path) => [folder, `${folder}/src`].includes(parentFolder(path)));
  const find = (pattern: RegExp): string[] => near.filter((path) => pattern.test(path));
  const files = [...near.filter(isReadme), ...find(/\/(index|lib|mod|__init__)\.\w+$/), ...find(/\/(main|app|cli)\.\w+$/)];
  return files.slice(0, 2).map((path) => createReadCall(path, introductionLines));
}

function sizeCalls(paths: string[]): Call[] {
  const folders = rankNames(paths.map((path) => parentFolder(path) || '.'));
  return folders.slice(0, maxSizedFolders).map(({ name }) => createListCall(name));
}

function surveyFolder(folder: string, conversation: SurveyConversation, isAlone: boolean): FolderSurvey {
  const { paths, complete } = findFiles(folder, conversation);
  const sizes = new Map(sizeCalls(paths).flatMap(({ input }) => listFiles(String(input.path), conversation)));
  const sized = paths.flatMap((path) => (sizes.has(path) ? [{ path, bytes: sizes.get(path) ?? 0, language: fileLanguage(path) }] : []));
  const searches = searchCalls(folder, paths, isAlone).map((call) => parseMatches(conversation.result(call), new Set(paths)));
  const matches = searches.flatMap((search) => search.matches).filter(({ path }) => fileLanguage(path) !== null && !isFixture(path));
  const testCases = matches.filter(({ path, text }) => isTestCase(text, path));
  const todos = matches.flatMap(({ path, line, text }) => {
    const todo = findTodo(text, path);
    return todo === null ? [] : [{ path, line, text: toPlainLine(todo, 120) }];
  });
  const sumBytes = (files: { bytes: number }[]): number => files.reduce((sum, { bytes }) => sum + bytes, 0);
  const largest = sized.filter(({ language }) => language !== null).sort((a, b) => b.bytes - a.bytes || compareNames(a.path, b.path));
  return {
    folder,
    files: paths.length,
    bytes: sumBytes(sized),
    languages: rankNames(paths.map(fileLanguage)).map((each) => {
      return { ...each, bytes: sumBytes(sized.filter(({ language }) => language === each.name)) };
    }),
    about: introduceFolder(introductionCalls({ folder, paths }), conversation),
    testFiles: new Set(testCases.map(({ path }) => path)).size,
    testCases: testCases.length,
    todoCount: todos.length,
    todos: todos.sort((a, b) => compareNames(a.path, b.path) || a.line - b.line),
    largest: largest.map(({ path, bytes }) => ({ path, bytes })),
    subfolders: folder === '.' ? [] : rankSubfolders(folder, paths),
    incomplete: [
      ...(complete ? [] : ['files' as const]),
      ...(sized.length === paths.length ? [] : ['sizes' as const]),
      ...(searches.every((search) => search.complete) ? [] : ['lines' as const]),
    ],
  };
}

function introduceFolder(calls: Call[], conversation: SurveyConversation): string {
  const texts = calls.map((call) => {
    const { lines } = parseRead(conversation.result(call));
    return isReadme(String(call.input.path)) ? introduceReadme(lines).text : introduceSource(lines);
  });
  return toPlainLine(texts.find((text) => text !== '') ?? '', 160);
}

/** What failed or was not called; equal failures once. */
export function describeProblems(calls: Call[], conversation: SurveyConversation): string[] {
  const failures = calls.flatMap((call) => {
    const result = conversation.result(call);
    const path = String(call.input.path);
    const reason = result?.text.replaceAll(path, '…') ?? 'not called, because it was not offered or a limit was reached';
    return result?.ok ? [] : [{ path, problem: `${call.tool}: ${toPlainLine(reason, 200)}` }];
  });
  return Array.from(
    Map.groupBy(failures, ({ problem }) => problem),
    ([problem, all]) => {
      return `${problem} (${formatNamedCount(all.length, 'call')}, first ${toPlainLine(all[0]?.path ?? '', 80)})`;
    },
  );
}
