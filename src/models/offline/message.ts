import { parseCutJson } from './cut-json.ts';
import { type FolderData, SurveyData } from './data.ts';
import { maxMessageBytes } from './limits.ts';
import { code, counted, number, prose, size, some } from './text.ts';

/** What a child hands to its parent: a few lines for people, then the survey as JSON for the parent's rules. */

const opening = '```json\n';
const closing = '\n```';

/** Lists get shorter until the message fits, so that it is hardly ever cut from outside. */
export function messageOf(survey: SurveyData): string {
  for (let share = 1; share > 0.01; share /= 2) {
    const message = `${survey.folders.map((folder) => textOf(folder, share)).join('\n')}\n\n${blockOf(shortened(survey, share))}`;
    if (Buffer.byteLength(message) <= maxMessageBytes) return message;
  }
  return blockOf(shortened(survey, 0));
}

function blockOf(survey: SurveyData): string {
  // As escapes, which JSON allows, nothing in it can be a fence or be taken away as invisible: names come back as they are.
  const json = JSON.stringify(survey).replace(/[<`\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `${opening}${json}${closing}`;
}

/** The survey in a message, also in one that was cut; null where there is none. */
export function surveyIn(message: string): SurveyData | null {
  const start = message.lastIndexOf(opening);
  if (start === -1) return null;
  const rest = message.slice(start + opening.length);
  const end = rest.indexOf('\n```');
  return SurveyData.safeParse(parseCutJson(end === -1 ? rest : rest.slice(0, end))).data ?? null;
}

function shortened({ survey, folders, problems }: SurveyData, share: number): SurveyData {
  const keep = <T>(list: T[], most: number): T[] => list.slice(0, Math.floor(most * share));
  return {
    survey,
    folders: folders.map((folder) => ({
      ...folder,
      languages: folder.languages.slice(0, Math.max(4, Math.floor(20 * share))),
      tests: { ...folder.tests, imports: keep(folder.tests.imports, 30) },
      todos: { ...folder.todos, first: keep(folder.todos.first, 10) },
      entries: keep(folder.entries, 12),
      largest: keep(folder.largest, 10),
      importedFiles: keep(folder.importedFiles, 40),
      importedPackages: keep(folder.importedPackages, 30),
      parts: keep(folder.parts, 16),
      manifests: keep(folder.manifests, 6),
    })),
    problems: keep(problems, 8),
  };
}

function textOf(data: FolderData, share: number): string {
  const name = data.folder === null ? 'Files at the top' : code(`${data.folder}/`);
  const languages = some(
    data.languages.map(([language, files]) => `${language} ${number(files)}`),
    4,
  );
  const about = data.about === '' ? '' : ` “${prose(data.about, 160)}”`;
  const lines = [`${name}: ${counted(data.files, 'file')} (${languages || 'no known language'}), ${size(data.bytes)}.${about}`];
  const add = (title: string, items: string[]): void => {
    if (items.length > 0 && share > 0.2) lines.push(`- ${title}: ${some(items, 3)}`);
  };
  add(
    'entry points',
    data.entries.map(({ path }) => code(path)),
  );
  if (data.tests.files > 0) lines.push(`- ${counted(data.tests.files, 'test file')} with ${counted(data.tests.cases, 'test case')}`);
  if (data.todos.count > 0) lines.push(`- ${counted(data.todos.count, 'mark')} (TODO and the like)`);
  add(
    'largest',
    data.largest.map(({ path, bytes }) => `${code(path)} ${size(bytes)}`),
  );
  add(
    'most imported',
    [...data.importedFiles, ...data.importedPackages].map(([target, count]) => `${code(target)} ${count}×`),
  );
  if (data.cut.length > 0) lines.push(`- not complete: ${data.cut.join(', ')}`);
  return lines.join('\n');
}
