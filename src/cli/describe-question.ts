// A question as a person reads it before answering. What is shown is what would be executed: nothing of it is removed or cut, what cannot be seen
// stands as a mark, and nothing of it can pass for a line of ours.
import type { Question } from '../api/api.ts';
import { formatArguments, markInvisibleLine } from '../text/invisible.ts';
import { duration, paint, shortId } from './format.ts';
import type { Io } from './io.ts';

/** More than this is more than a screen: how much it is stands above it. */
const screen = { lines: 20, chars: 1500 };
/** So many blank lines stand as they are; more would only move the rest out of sight. */
const maxBlank = 5;
const maxSubjects = 50;
const maxSubjectChars = 200;

/** What would be done, by whom, and why that is asked. What it is about comes last: of a long one, the last screen is what is seen. */
export function questionText(question: Question, io: Pick<Io, 'colour'>): string {
  const { tool, decision, runId, agent, label, askedAt, expiresAt } = question;
  const who = [agent ?? 'a run', ...(label === null ? [] : [`“${label}”`])].map(markInvisibleLine).join(' ');
  const about = decision.about === undefined ? '' : `, about \`${subjectText(decision.about)}\``;
  const head = `${who} (${shortId(runId)}) asks to use ${markInvisibleLine(tool)}: rule \`${markInvisibleLine(decision.rule ?? '')}\` of ${markInvisibleLine(decision.owner)}${about}`;
  return [
    paint(io.colour.err, 'bold', head),
    ...argumentLines(formatArguments(question.arguments)),
    `  it waits ${duration(Date.parse(expiresAt) - Date.parse(askedAt))} for an answer`,
    ...subjectLines(question.subjects),
  ].join('\n');
}

function argumentLines(text: string): string[] {
  const lines = text.split('\n');
  const long = lines.length > screen.lines || text.length > screen.chars;
  const size = `  ${lines.length} ${lines.length === 1 ? 'line' : 'lines'}, ${text.length} characters:`;
  return [...(long ? [size] : []), ...foldBlank(lines).map((line) => `    ${line}`)];
}

function foldBlank(lines: string[]): string[] {
  const shown: string[] = [];
  let blank: string[] = [];
  const flush = () => {
    shown.push(...(blank.length > maxBlank ? [`[${blank.length} blank lines]`] : blank));
    blank = [];
  };
  for (const line of lines) {
    // The empty pattern of braille is a letter that shows nothing.
    if (/^[\s\u2800]*$/.test(line)) {
      blank.push(line);
      continue;
    }
    flush();
    shown.push(line);
  }
  flush();
  return shown;
}

function subjectLines(subjects: string[]): string[] {
  if (subjects.length === 0) return [];
  const more = subjects.length - maxSubjects;
  const shown = subjects.slice(0, maxSubjects).map((subject) => `    ${subjectText(subject)}`);
  return ['  it is about:', ...shown, ...(more > 0 ? [`    [and ${more} more]`] : [])];
}

function subjectText(subject: string): string {
  const text = markInvisibleLine(subject);
  if (text.length <= maxSubjectChars) return text;
  return `${text.slice(0, maxSubjectChars).toWellFormed()}[… ${text.length - maxSubjectChars} more characters]`;
}
