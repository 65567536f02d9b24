import { readmeOf } from './about.ts';
import type { SurveyData } from './data.ts';
import { join, type Overview } from './join.ts';
import type { ReadManifest } from './manifests.ts';
import { layout } from './report/layout.ts';
import { dependencies, entryPoints, imported, largest, tests, todos } from './report/sections.ts';
import { worthALook } from './report/worth-a-look.ts';
import { code, counted, number, percent, prose, size } from './text.ts';
import type { Top } from './workspace.ts';

export interface ReportGround {
  asked: { task: string; further: string | null };
  top: Top;
  surveys: SurveyData[];
  manifests: ReadManifest[];
  /** The first lines of the README at the top. */
  readme: string[];
  problems: string[];
}

const maxProblems = 12;

/** The report, in Markdown. The same ground gives the same bytes: no times, no ids, every list in one order. */
export function reportOf(ground: ReportGround): string {
  const overview = join(ground.surveys, ground.manifests);
  const { title, text } = readmeOf(ground.readme);
  const project = ground.manifests.find(({ name, path }) => name !== '' && !path.includes('/'));
  const sections: [title: string, lines: string[]][] = [
    ['What this is', whatItIs(text, project, overview)],
    ['Languages', languages(overview)],
    ['Layout', layout(overview, ground.top)],
    ['Entry points', entryPoints(overview, ground.manifests)],
    ['Dependencies', dependencies(ground.manifests)],
    ['Tests', tests(overview, ground.manifests)],
    ['TODOs', todos(overview)],
    ['Largest files', largest(overview)],
    ['Most imported', imported(overview)],
    ['Worth a look', worthALook(overview, ground)],
    ['Not seen', notSeen(overview, ground)],
  ];
  const shown = sections.filter(([, lines]) => lines.length > 0).map(([name, lines]) => `## ${name}\n\n${lines.join('\n')}`);
  const name = project === undefined ? '' : prose(project.name, 80);
  return [`# Survey of ${title || name || 'this workspace'}`, ...remark(ground.asked), ...shown, footer].join('\n\n');
}

const footer = `---

This report was made by rules (offline/surveyor), not by a language model: it counts and quotes, and understands nothing. For answers,
name a model: \`retinue run --model PROVIDER/MODEL "…"\`, or \`model\` in retinue.config.json.`;

const surveying = /\b(survey|overview|describe|explain|summari[sz]e|explore|tour|report|map|inspect|look (around|at)|what is (this|in))\b/i;

/** Whoever asks for something else is told what he gets. */
function remark({ task, further }: ReportGround['asked']): string[] {
  const asked = further ?? (surveying.test(task.slice(0, 2000)) ? null : task);
  if (asked === null) return [];
  return [
    `> You asked: ${code(asked, 160)}. Surveying is all that offline/surveyor can do, so this is ${further === null ? 'a survey' : 'the survey again'}.`,
  ];
}

function whatItIs(text: string, project: ReadManifest | undefined, overview: Overview): string[] {
  const lines = text === '' ? [] : [`> ${text}`, ''];
  const about = project === undefined ? '' : prose(project.about, 300);
  if (project !== undefined) {
    lines.push(`${code(project.name)} (${project.kind}, ${code(project.path)})${about === '' ? '.' : `: ${about.replace(/\.?$/, '.')}`}`);
  }
  const [main] = overview.languages.filter(({ isCode }) => isCode);
  const mostly = main === undefined ? '' : `, mostly ${prose(main.name, 40)}`;
  lines.push(`${counted(overview.files, 'file')}, ${counted(overview.codeFiles, 'file')} of code${mostly}; ${sizes(overview)}.`);
  return lines;
}

function sizes({ bytes, sized, files }: Overview): string {
  return sized < files ? `the ${counted(sized, 'file')} whose size is known have ${size(bytes)}` : size(bytes);
}

function languages({ languages: all, codeFiles }: Overview): string[] {
  const code = all.filter(({ isCode }) => isCode);
  const rest = all.filter(({ isCode }) => !isCode).map(({ name, files }) => `${prose(name, 40)} ${number(files)}`);
  const rows = code.map(
    ({ name, files, bytes }) => `| ${prose(name, 40)} | ${number(files)} | ${percent(files, codeFiles)} | ${size(bytes)} |`,
  );
  const table = rows.length === 0 ? ['No code was found.'] : ['| language | files | share | size |', '|---|---:|---:|---:|', ...rows];
  return rest.length === 0 ? table : [...table, '', `Besides: ${rest.join(', ')}.`];
}

const cutWords: [key: string, words: string][] = [
  ['files', 'not all files were listed, so counts are lower bounds'],
  ['sizes', 'not all sizes are known'],
  ['imports', 'imports were counted in a part of the files'],
  ['todos', 'TODOs were counted in a part of the files'],
  ['tests', 'test cases were counted in a part of the files'],
  ['starts', 'entry points were looked for in a part of the files'],
];

function notSeen({ cut, folders }: Overview, { top, problems }: ReportGround): string[] {
  const lines = cutWords.flatMap(([key, words]) => {
    if (!cut.has(key)) return [];
    const where = folders.filter((data) => data.cut.includes(key)).map(({ folder }) => (folder === null ? 'the top' : code(folder)));
    return [`- ${words} (${where.slice(0, 8).join(', ')}${where.length > 8 ? ', …' : ''})`];
  });
  if (top.problem !== null) lines.push(`- the workspace could not be listed: ${code(top.problem)}`);
  if (top.cut) lines.push('- the list of the workspace was cut');
  if (top.others > 0) lines.push(`- ${counted(top.others, 'name')} at the top not followed: links, or not to be opened`);
  const told = [...new Set(problems)];
  lines.push(...told.slice(0, maxProblems).map((problem) => `- ${code(problem, 300)}`));
  return told.length > maxProblems ? [...lines, `- and ${told.length - maxProblems} more`] : lines;
}
