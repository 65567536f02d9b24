// An approval question as a person reads it before answering. It shows exactly what would be executed: nothing is removed or cut, invisible
// characters appear as marks, and no argument can imitate the lines around it.
import type { Question } from '../contract/view.ts';
import { formatArguments, listArguments, markInvisibleLine } from '../text/invisible.ts';
import { formatDuration, shortId } from './format.ts';
import { paint } from './style.ts';

/** Above this size the arguments may not fit on a screen, so their size is shown first. */
const screen = { lines: 20, chars: 1500 };
/** Longer runs of blank lines are replaced by their number: they could push the rest off the screen. */
const maxBlank = 5;
const maxSubjects = 50;
const maxSubjectChars = 200;

/** A question in parts that are safe to show as they are. */
export interface QuestionParts {
  /** Who asks: the agent, with the label of the run. */
  requester: string;
  tool: string;
  rule: string;
  owner: string;
  /** What the rule was matched against, if the call has several subjects. */
  about: string | null;
  /** All arguments. Long runs of blank lines are replaced by their number. */
  arguments: string;
  /** The same one by one, for screens that keep names and values apart. */
  fields: { name: string; text: string }[];
  /** `25 lines, 1800 characters`, if they may not fit on a screen. */
  size: string | null;
  /** Affected paths or commands. */
  subjects: string[];
}

export function questionToParts({ tool, decision, agent, label, subjects, arguments: args }: Question): QuestionParts {
  const text = formatArguments(args);
  const lines = text.split('\n');
  const isLong = lines.length > screen.lines || text.length > screen.chars;
  const more = subjects.length - maxSubjects;
  return {
    requester: [agent ?? 'a run', ...(label === null ? [] : [`“${label}”`])].map(markInvisibleLine).join(' '),
    tool: markInvisibleLine(tool),
    rule: markInvisibleLine(decision.rule ?? ''),
    owner: markInvisibleLine(decision.owner),
    about: decision.about === undefined ? null : subjectText(decision.about),
    arguments: foldBlank(lines).join('\n'),
    fields: listArguments(args).map(({ name, text: value }) => ({ name, text: foldBlank(value.split('\n')).join('\n') })),
    size: isLong ? `${lines.length} ${lines.length === 1 ? 'line' : 'lines'}, ${text.length} characters` : null,
    subjects: [...subjects.slice(0, maxSubjects).map(subjectText), ...(more > 0 ? [`[and ${more} more]`] : [])],
  };
}

/** The affected paths or commands come last, because only the last screen of a long question is visible. */
export function describeQuestion(question: Question, colour: boolean): string {
  const { runId, askedAt, expiresAt } = question;
  const { requester, tool, rule, owner, about, size, subjects, arguments: args } = questionToParts(question);
  const subject = about === null ? '' : ` for \`${about}\``;
  const indented = (lines: string[]) => lines.map((line) => `    ${line}`);
  return [
    paint(
      colour,
      'bold',
      `${requester} (${shortId(runId)}) wants to use ${tool}; rule \`${rule}\` of ${owner} requires approval${subject}`,
    ),
    ...(size === null ? [] : [`  ${size}:`]),
    ...indented(args.split('\n')),
    `  without an answer it is denied after ${formatDuration(Date.parse(expiresAt) - Date.parse(askedAt))}`,
    ...(subjects.length === 0 ? [] : ['  affects:', ...indented(subjects)]),
  ].join('\n');
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

function subjectText(subject: string): string {
  const text = markInvisibleLine(subject);
  if (text.length <= maxSubjectChars) return text;
  return `${text.slice(0, maxSubjectChars).toWellFormed()}[… ${text.length - maxSubjectChars} more characters]`;
}
