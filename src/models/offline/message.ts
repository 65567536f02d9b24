// What a surveyor hands to its parent: a summary for people, then the survey as a JSON block for the parent's rules. The parent treats it as
// untrusted data: a block that does not fit the schema counts as no survey.
import { z } from 'zod';
import type { Result } from './conversation.ts';
import { formatNamedCount, formatSize, toCode } from './format.ts';

const count = z.int().min(0);
const name = z.string().max(4096);

const FolderSurvey = z.object({
  /** `.` stands for the files at the top of the workspace. */
  folder: name,
  files: count,
  bytes: count,
  languages: z.array(z.object({ name, files: count, bytes: count })),
  about: z.string().max(1000),
  testFiles: count,
  testCases: count,
  todoCount: count,
  todos: z.array(z.object({ path: name, line: count, text: z.string().max(1000) })),
  largest: z.array(z.object({ path: name, bytes: count })),
  /** Those with the most files. */
  subfolders: z.array(z.object({ name, files: count })),
  /** What was not seen completely. */
  incomplete: z.array(z.enum(['files', 'sizes', 'lines', 'lists'])),
});
export type FolderSurvey = z.infer<typeof FolderSurvey>;

const Survey = z.object({ folders: z.array(FolderSurvey), problems: z.array(z.string().max(1000)) });
export type Survey = z.infer<typeof Survey>;

/** Below the 16,384 bytes of a child's message that enter its parent's conversation by default. */
const maxMessageBytes = 14_000;
/** Items of a list that are sent: as many as the report shows. */
const maxItems = 10;
const blockStart = '```json\n';
const blockEnd = '\n```';

/** Lists get shorter until the message fits; counts stay. */
export function surveyToMessage({ folders, problems }: Survey): string {
  const lists = [maxItems, 5, 2, 0].map((items) => ({
    folders: folders.map((folder) => shorten(folder, items)),
    problems: problems.slice(0, items),
  }));
  const messages = lists.map((survey) => `${survey.folders.map(summarise).join('\n')}\n\n${blockStart}${toSafeJson(survey)}${blockEnd}`);
  return messages.find((message) => Buffer.byteLength(message) <= maxMessageBytes) ?? (messages.at(-1) as string);
}

/** Escaped, so that nothing in a name can end the block, be taken for the runtime's fence, or be removed as invisible. */
function toSafeJson(survey: Survey): string {
  return JSON.stringify(survey).replace(/[<`\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function shorten(folder: FolderSurvey, items: number): FolderSurvey {
  const first = <T>(list: T[]): T[] => list.slice(0, items);
  const incomplete = items < maxItems ? [...folder.incomplete, 'lists' as const] : folder.incomplete;
  return { ...folder, todos: first(folder.todos), largest: first(folder.largest), subfolders: first(folder.subfolders), incomplete };
}

function summarise({ folder, files, bytes, testCases, todoCount, incomplete }: FolderSurvey): string {
  const title = folder === '.' ? 'Files at the top' : toCode(`${folder}/`);
  const counts = [
    formatNamedCount(files, 'file'),
    formatSize(bytes),
    formatNamedCount(testCases, 'test case'),
    formatNamedCount(todoCount, 'TODO'),
  ];
  return `${title}: ${counts.join(', ')}${incomplete.length === 0 ? '' : ` (incomplete: ${incomplete.join(', ')})`}.`;
}

/** Null if the message contains no valid survey. */
export function parseMessage(message: string): Survey | null {
  const [json = ''] = message.slice(message.lastIndexOf(blockStart)).slice(blockStart.length).split(blockEnd);
  try {
    return Survey.safeParse(JSON.parse(json)).data ?? null;
  } catch {
    return null; // Cut, or not JSON: the report names the folders that no survey covers.
  }
}

const fences = /^<run-output run="[0-9a-f]{16}">\n([\s\S]*?)\n<\/run-output>$/gm;

/** The surveys in the result of `delegate`, and what the runtime says about children that did not complete. */
export function parseDelegation({ text }: Result): { surveys: Survey[]; problems: string[] } {
  const messages = Array.from(text.matchAll(fences), ([, message]) => message ?? '');
  const others = text.replace(fences, '').split('\n');
  return {
    surveys: messages.flatMap((message) => parseMessage(message) ?? []),
    problems: others.filter((line) => line !== '' && !/^\[run [0-9a-f]{16} · completed · /.test(line)),
  };
}
