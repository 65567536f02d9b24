// An approval question as a person reads it before answering. It shows exactly what would be executed: nothing is removed or cut, invisible
// characters appear as marks, and no argument can imitate the lines around it.
import type { Question } from '../contract/view.ts';
import { markInvisibleLine } from '../text/invisible.ts';
import { argumentsToText, foldBlankLines } from './argument-text.ts';
import { formatDuration, shortId } from './format.ts';
import { paint } from './style.ts';

/** Above this size the arguments may not fit on a screen, so their size is shown first. */
const screen = { lines: 20, chars: 1500 };
/** `flowQuestion` of the contract; a value import would put the schema library into the dashboard. */
const flowOwner = 'the flow';
const maxSubjects = 50;
const maxSubjectChars = 200;

/** A flow asks in its own words; no rule requires it. */
export function isFlowQuestion({ decision }: { decision: Pick<Question['decision'], 'rule' | 'owner'> }): boolean {
  return decision.rule === null && decision.owner === flowOwner;
}

/** The affected paths or commands come last, because only the last screen of a long question is visible. */
export function describeQuestion(question: Question, colour: boolean): string {
  const { tool, decision, runId, agent, label, askedAt, expiresAt } = question;
  const requester = [agent ?? 'a run', ...(label === null ? [] : [`“${label}”`])].map(markInvisibleLine).join(' ');
  const isFlow = isFlowQuestion(question);
  const subject = decision.about === undefined ? '' : ` for \`${subjectText(decision.about)}\``;
  const head = isFlow
    ? `the flow ${markInvisibleLine(label === null ? '' : `“${label}” `)}(${shortId(runId)}) asks`
    : `${requester} (${shortId(runId)}) wants to use ${markInvisibleLine(tool)}; rule \`${markInvisibleLine(decision.rule ?? '')}\` of ${markInvisibleLine(decision.owner)} requires approval${subject}`;
  return [
    paint(colour, 'bold', head),
    ...argumentLines(argumentsToText(question.arguments)),
    `  without an answer it is ${isFlow ? 'refused' : 'denied'} after ${formatDuration(Date.parse(expiresAt) - Date.parse(askedAt))}`,
    ...subjectLines(question.subjects),
  ].join('\n');
}

function argumentLines(text: string): string[] {
  const lines = text.split('\n');
  const isLong = lines.length > screen.lines || text.length > screen.chars;
  const size = `  ${lines.length} ${lines.length === 1 ? 'line' : 'lines'}, ${text.length} characters:`;
  return [...(isLong ? [size] : []), ...foldBlankLines(lines).map((line) => `    ${line}`)];
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
