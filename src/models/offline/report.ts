// The report of a survey, in Markdown. Equal evidence gives equal bytes: no times, no ids, every list in a fixed order.
import { introduceReadme, isCodeLanguage } from './files.ts';
import { compareNames, formatNamedCount, formatNumber, formatSize, joinTexts, toCode, toProse } from './format.ts';
import type { FolderSurvey } from './message.ts';

/** What is at the top of the workspace. */
export interface Top {
  folders: string[];
  skipped: string[];
  files: string[];
  /** Names that a survey does not follow: links, devices, names that cannot be opened. */
  links: number;
  complete: boolean;
}

export interface Evidence {
  task: string;
  followUp: string | null;
  top: Top;
  folders: FolderSurvey[];
  /** The first lines of the README at the top. */
  readme: string[];
  problems: string[];
}

const maxShown = 10;
const maxFolders = 40;

export function writeReport(evidence: Evidence): string {
  // Each folder once and no others, whatever children claim.
  const byName = new Map(evidence.folders.map((folder) => [folder.folder, folder]));
  const folders = [...evidence.top.folders, '.'].flatMap((name) => byName.get(name) ?? []);
  const { title, text } = introduceReadme(evidence.readme);
  const sections: [title: string, lines: string[]][] = [
    ['What this is', [...(text === '' ? [] : [`> ${text}`, '']), describeTotals(folders)]],
    ['Languages', describeLanguages(folders)],
    ['Layout', describeLayout(byName, evidence.top)],
    ['Tests', [describeTests(folders)]],
    ['TODOs', describeTodos(folders)],
    ['Largest files', describeLargest(folders)],
    ['Not covered', describeGaps(folders, evidence)],
  ];
  const shown = sections.filter(([, lines]) => lines.length > 0).map(([name, lines]) => `## ${name}\n\n${lines.join('\n')}`);
  return [`# Survey of ${title || 'this workspace'}`, ...describeRequest(evidence), ...shown, footer].join('\n\n');
}

const footer = `---

Rules made this report (offline/surveyor), not a language model: it counts and quotes, and understands nothing. For answers, choose a model:
\`retinue run --model PROVIDER/MODEL "…"\`, or \`model\` in retinue.config.json.`;

const surveyWords =
  /\b(survey|overview|describe|explain|summari[sz]e|explore|tour|report|map|inspect|look (around|at)|what is (this|in))\b/i;

/** Says so if a survey is not what the user asked for. */
function describeRequest({ task, followUp }: Evidence): string[] {
  const request = followUp ?? (surveyWords.test(task.slice(0, 2000)) ? null : task);
  if (request === null) return [];
  const what = followUp === null ? 'a survey' : 'the survey again';
  return [`> You asked: ${toCode(request, 160)}. offline/surveyor can only survey a workspace, so this is ${what}.`];
}

function sum<T>(items: T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}

function describeTotals(folders: FolderSurvey[]): string {
  const code = totalLanguages(folders).filter(({ name }) => isCodeLanguage(name));
  const files = sum(folders, (folder) => folder.files);
  const codeFiles = sum(code, (language) => language.files);
  const mostly = code[0] === undefined ? '' : `, mostly ${code[0].name}`;
  const size = formatSize(sum(folders, (folder) => folder.bytes));
  return `${formatNamedCount(files, 'file')}, ${formatNamedCount(codeFiles, 'file')} of code${mostly}; ${size}.`;
}

function totalLanguages(folders: FolderSurvey[]): FolderSurvey['languages'] {
  const all = folders.flatMap(({ languages }) => languages);
  const groups = [...Map.groupBy(all, ({ name }) => toProse(name, 40))];
  const totals = groups.map(([name, each]) => ({ name, files: sum(each, ({ files }) => files), bytes: sum(each, ({ bytes }) => bytes) }));
  return totals.sort((a, b) => b.files - a.files || compareNames(a.name, b.name));
}

function describeLanguages(folders: FolderSurvey[]): string[] {
  const all = totalLanguages(folders);
  const code = all.filter(({ name }) => isCodeLanguage(name));
  const others = all.filter(({ name }) => !isCodeLanguage(name)).map(({ name, files }) => `${name} ${formatNumber(files)}`);
  const rows = code.map(({ name, files, bytes }) => `| ${name} | ${formatNumber(files)} | ${formatSize(bytes)} |`);
  const table = rows.length === 0 ? ['No code was found.'] : ['| language | files | size |', '|---|---:|---:|', ...rows];
  return others.length === 0 ? table : [...table, '', `Other files: ${others.join(', ')}.`];
}

function describeLayout(surveyed: Map<string, FolderSurvey>, top: Top): string[] {
  const lines = top.folders.map((name) => `- ${toCode(`${name}/`)}: ${describeFolder(surveyed.get(name))}`);
  const more = [
    ['at the top', top.files.map((name) => toCode(name))],
    ['skipped', top.skipped.map((name) => toCode(`${name}/`))],
  ] as const;
  return [
    ...limitLines(lines, maxFolders),
    ...more.flatMap(([title, names]) => (names.length === 0 ? [] : [`- ${title}: ${joinTexts(names, 12)}`])),
  ];
}

function describeFolder(folder: FolderSurvey | undefined): string {
  if (folder === undefined) return 'not surveyed';
  if (folder.files === 0) return folder.incomplete.includes('files') ? 'could not be listed' : 'empty';
  const languages = folder.languages.map(({ name }) => toProse(name, 40));
  const facts = [formatNamedCount(folder.files, 'file'), joinTexts(languages, 3), formatSize(folder.bytes)].filter((fact) => fact !== '');
  const about = folder.about === '' ? '' : `. “${toProse(folder.about, 160)}”`;
  const subfolders = folder.subfolders.slice(0, 8).map(({ name, files }) => `${toCode(name)} ${formatNumber(files)}`);
  return `${facts.join(', ')}${about}${subfolders.length === 0 ? '' : `. Largest subfolders: ${subfolders.join(', ')}`}`;
}

function describeTests(folders: FolderSurvey[]): string {
  const files = sum(folders, ({ testFiles }) => testFiles);
  const cases = sum(folders, ({ testCases }) => testCases);
  return cases === 0 ? 'No tests were found.' : `${formatNamedCount(cases, 'test case')} in ${formatNamedCount(files, 'file')}.`;
}

function describeTodos(folders: FolderSurvey[]): string[] {
  const count = sum(folders, ({ todoCount }) => todoCount);
  if (count === 0) return ['None were found.'];
  const all = folders.flatMap(({ todos }) => todos).sort((a, b) => compareNames(a.path, b.path) || a.line - b.line);
  const shown = all.slice(0, maxShown).map(({ path, line, text }) => `- ${toCode(`${path}:${line}`)} ${toCode(text, 120)}`);
  return [`${formatNamedCount(count, 'TODO')}${count > shown.length ? `. The first ${shown.length}` : ''}:`, '', ...shown];
}

function describeLargest(folders: FolderSurvey[]): string[] {
  const all = folders.flatMap(({ largest }) => largest).sort((a, b) => b.bytes - a.bytes || compareNames(a.path, b.path));
  return all.slice(0, maxShown).map(({ path, bytes }, index) => `${index + 1}. ${toCode(path)}: ${formatSize(bytes)}`);
}

const gaps: [key: FolderSurvey['incomplete'][number], text: string][] = [
  ['files', 'not all files were listed, so counts are lower bounds'],
  ['sizes', 'not all files have a known size, so sizes are lower bounds'],
  ['lines', 'not all lines were searched for TODOs and tests'],
  ['lists', 'the TODOs and the largest files were shortened, so lists may miss some'],
];

function describeGaps(folders: FolderSurvey[], { top, problems }: Evidence): string[] {
  const lines = gaps.flatMap(([key, text]) => {
    const where = folders.filter(({ incomplete }) => incomplete.includes(key)).map(({ folder }) => toCode(folder));
    return where.length === 0 ? [] : [`- ${text} (${joinTexts(where, 8)})`];
  });
  const left = top.folders.filter((name) => folders.every(({ folder }) => folder !== name)).map((name) => toCode(name));
  if (left.length > 0) lines.push(`- ${formatNamedCount(left.length, 'folder')} not surveyed: ${joinTexts(left, 8)}`);
  if (!top.complete) lines.push('- the workspace could not be listed completely');
  if (top.links > 0) lines.push(`- ${formatNamedCount(top.links, 'name')} at the top not followed: links, or names that cannot be opened`);
  const others = [...new Set(problems)].map((problem) => `- ${toCode(problem, 300)}`);
  return [...lines, ...limitLines(others, 12)];
}

function limitLines(lines: string[], max: number): string[] {
  return lines.length <= max ? lines : [...lines.slice(0, max), `- and ${formatNumber(lines.length - max)} more`];
}
