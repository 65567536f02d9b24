// An approval question as a person reads it before answering. It shows exactly what would be executed: nothing is removed or cut, invisible
// characters appear as marks, and no argument can imitate the lines around it.
import type { Question } from '../contract/view.ts';
import { formatArguments, markInvisibleLine } from '../text/invisible.ts';
import { formatDuration, shortId } from './format.ts';
import { paint } from './style.ts';

/** Above this size the arguments may not fit on a screen, so their size is shown first. */
const screen = { lines: 20, chars: 1500 };
/** Longer runs of blank lines are replaced by their number: they could push the rest off the screen. */
const maxBlank = 5;
const maxSubjects = 50;
const maxSubjectChars = 200;

/** The affected paths or commands come last, because only the last screen of a long question is visible. */
export function describeQuestion(question: Question, colour: boolean): string {
  const { tool, decision, runId, agent, label, askedAt, expiresAt } = question;
  const requester = [agent ?? 'a run', ...(label === null ? [] : [`“${label}”`])].map(markInvisibleLine).join(' ');
  const subject = decision.about === undefined ? '' : ` for \`${subjectText(decision.about)}\``;
  const head = `${requester} (${shortId(runId)}) wants to use ${markInvisibleLine(tool)}; rule \`${markInvisibleLine(decision.rule ?? '')}\` of ${markInvisibleLine(decision.owner)} requires approval${subject}`;
  return [
    paint(colour, 'bold', head),
    ...argumentLines(formatArguments(question.arguments)),
    `  without an answer it is denied after ${formatDuration(Date.parse(expiresAt) - Date.parse(askedAt))}`,
    ...subjectLines(question.subjects),
  ].join('\n');
}

function argumentLines(text: string): string[] {
  const lines = text.split('\n');
  const isLong = lines.length > screen.lines || text.length > screen.chars;
  const size = `  ${lines.length} ${lines.length === 1 ? 'line' : 'lines'}, ${text.length} characters:`;
  return [...(isLong ? [size] : []), ...foldBlank(lines).map((line) => `    ${line}`)];
}

function foldBlank(lines: string[]): string[] {
  const shown: string[] = [];
  let blank: string[] = [];
  const flush = () => {
    shown.push(...(blank.length > maxBlank ? [`[${blank.length} blank lines]`] : blank));
    blank = [];
  };
  for (const line of lines) {
    // U+2800, the empty braille pattern, is a letter that shows nothing.
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
  return ['  affects:', ...shown, ...(more > 0 ? [`    [and ${more} more]`] : [])];
}

function subjectText(subject: string): string {
  const text = markInvisibleLine(subject);
  if (text.length <= maxSubjectChars) return text;
  return `${text.slice(0, maxSubjectChars).toWellFormed()}[… ${text.length - maxSubjectChars} more characters]`;
}
