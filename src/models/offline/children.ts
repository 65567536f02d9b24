import type { Result } from './conversation.ts';
import type { SurveyData } from './data.ts';
import { surveyIn } from './message.ts';
import type { Scope } from './scope.ts';
import { plain } from './text.ts';

/** What became of one task. */
export interface Child {
  scope: Scope;
  survey: SurveyData | null;
  /** Why there is no survey, or why it may not be whole; null when all is well. */
  problem: string | null;
}

interface Reply {
  /** `completed`, `failed`, `refused`, … */
  status: string;
  note: string;
  text: string[];
}

/** The children of a `delegate` call, in the order of its tasks. What they wrote counts only as data. */
export function childrenOf(scopes: Scope[], result: Result): Child[] {
  const replies = repliesIn(result.text);
  return scopes.map((scope, index) => {
    const reply = replies[index];
    if (reply === undefined) return { scope, survey: null, problem: plain(result.text, 200) || 'there was no result' };
    const survey = within(scope, surveyIn(reply.text.join('\n')));
    if (reply.status === 'completed' && survey !== null) return { scope, survey, problem: null };
    const why = reply.note === '' ? '' : ` (${plain(reply.note, 160)})`;
    return { scope, survey, problem: reply.status === 'completed' ? 'it gave no survey' : `${reply.status}${why}` };
  });
}

/** A child speaks for its own folders only. */
function within(scope: Scope, survey: SurveyData | null): SurveyData | null {
  if (survey === null) return null;
  return { ...survey, folders: survey.folders.filter(({ folder }) => (folder === null ? scope.files : scope.folders.includes(folder))) };
}

/** Inside its fence a child may write anything; only what stands outside makes a reply. */
function repliesIn(output: string): Reply[] {
  const replies: Reply[] = [];
  let fenced = false;
  for (const line of output.split('\n')) {
    const last = replies.at(-1);
    const head = /^\[run [0-9a-f]{16} · ([a-z_]+) · /.exec(line) ?? /^\[task \d+ of \d+ · (refused)\] /.exec(line);
    if (fenced) {
      if (line === '</run-output>') fenced = false;
      else last?.text.push(line);
    } else if (/^<run-output run="[0-9a-f]{16}">$/.test(line)) fenced = true;
    else if (head) replies.push({ status: head[1] ?? '', note: head[1] === 'refused' ? line.slice(line.indexOf(']') + 2) : '', text: [] });
    else if (last && last.note === '' && last.text.length === 0) last.note = line;
  }
  return replies;
}
