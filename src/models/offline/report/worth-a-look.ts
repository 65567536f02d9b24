import type { FolderData } from '../data.ts';
import type { Overview } from '../join.ts';
import { isCode, isCodeLanguage } from '../languages.ts';
import { addTo, code, counted, ranked, size } from '../text.ts';
import type { Top } from '../workspace.ts';

const largeBytes = 40 * 1024;
const manyMarks = 4;
const someCode = 3;

/** What a reader might want to open first. Each line is a fact with its measure, not a verdict. */
export function worthALook(overview: Overview, { top, manifests }: { top: Top; manifests: { path: string }[] }): string[] {
  const large = overview.largest.filter(({ path, bytes }) => bytes >= largeBytes && isCode(path)).slice(0, 5);
  return [
    ...large.map(({ path, bytes }) => `- ${code(path)} is large for a file of code: ${size(bytes)}`),
    ...untested(overview).map(
      (data) => `- ${code(`${data.folder}/`)} has ${counted(codeFiles(data), 'file')} of code, no tests, and no test imports it`,
    ),
    ...marked(overview),
    ...missing(top, manifests),
  ];
}

/** A folder is tested where tests lie in it or where tests elsewhere import from it. Tests that nothing is known of prove nothing. */
function untested({ folders, tests, cut }: Overview): FolderData[] {
  if (cut.has('imports') || cut.has('tests')) return [];
  if (tests.files === 0 && tests.cases === 0) return [];
  const reached = (folder: string, parts: FolderData['parts']): boolean =>
    tests.imports.some((name) => name === folder || name.split(/[/.]/).includes(folder) || parts.some(([part]) => name === part));
  return folders.filter(({ folder, tests: own, parts, ...data }) => {
    return folder !== null && own.files === 0 && own.cases === 0 && codeFiles(data) >= someCode && !reached(folder, parts);
  });
}

function codeFiles({ languages }: Pick<FolderData, 'languages'>): number {
  return languages.reduce((sum, [name, count]) => sum + (isCodeLanguage(name) ? count : 0), 0);
}

function marked({ todos }: Overview): string[] {
  const counts = new Map<string, number>();
  for (const { path } of todos.first) addTo(counts, path);
  const many = ranked(counts).filter(([, count]) => count >= manyMarks);
  return many.slice(0, 3).map(([path, count]) => `- ${code(path)} has at least ${counted(count, 'mark')} (TODO and the like)`);
}

const locks = /^(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?)$/;

function missing(top: Top, manifests: { path: string }[]): string[] {
  if (top.problem !== null || top.cut) return [];
  const has = (pattern: RegExp): boolean => top.files.some((name) => pattern.test(name));
  const lines: string[] = [];
  if (!has(/^readme(\.\w+)?$/i)) lines.push('- there is no README at the top');
  if (!has(/^(licen[cs]e|copying|unlicense)/i)) lines.push('- there is no licence at the top');
  if (manifests.some(({ path }) => path === 'package.json') && !has(locks)) lines.push('- package.json has no lock file beside it');
  return lines;
}
