// An approval question in parts, for screens that lay it out themselves. Every part is safe to show as it is: nothing of the call is removed or
// cut, and invisible characters appear as marks.
import type { Question } from '../contract/view.ts';
import { formatArguments, listArguments, markInvisibleLine } from '../text/invisible.ts';
import { foldBlankLines } from './argument-text.ts';
import { isFlowQuestion } from './describe-question.ts';

export interface QuestionParts {
  /** Who asks: the agent or `the flow`, with the label of the run. */
  requester: string;
  tool: string;
  rule: string;
  owner: string;
  /** What the rule was matched against, if the call has several subjects. */
  about: string | null;
  /** All arguments one by one. */
  fields: { name: string; text: string }[];
  /** `25 lines, 1800 characters`, if they may not fit on a screen. */
  size: string | null;
  /** Affected paths or commands. */
  subjects: string[];
}

/** Above this size the arguments may not fit on a screen, so their size is shown first. */
const screen = { lines: 20, chars: 1500 };
const maxSubjects = 50;

export function questionToParts({ tool, decision, agent, label, subjects, arguments: args }: Question): QuestionParts {
  const { length: chars } = formatArguments(args);
  const fields = listArguments(args);
  const lines = fields.reduce((sum, { text }) => sum + text.split('\n').length, 0);
  const more = subjects.length - maxSubjects;
  return {
    requester: [isFlowQuestion({ decision }) ? 'the flow' : (agent ?? 'a run'), ...(label === null ? [] : [`“${label}”`])]
      .map(markInvisibleLine)
      .join(' '),
    tool: markInvisibleLine(tool),
    rule: markInvisibleLine(decision.rule ?? ''),
    owner: markInvisibleLine(decision.owner),
    about: decision.about === undefined ? null : markInvisibleLine(decision.about),
    fields: fields.map(({ name, text }) => ({ name, text: foldBlankLines(text.split('\n')).join('\n') })),
    size: lines > screen.lines || chars > screen.chars ? `${lines} ${lines === 1 ? 'line' : 'lines'}, ${chars} characters` : null,
    subjects: [...subjects.slice(0, maxSubjects).map(markInvisibleLine), ...(more > 0 ? [`[and ${more} more]`] : [])],
  };
}
