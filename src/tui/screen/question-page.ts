// A call that waits for approval, in full: what is shown here is exactly what will be executed.
import type { Question } from '../../api/api.ts';
import { describeQuestion, isFlowQuestion } from '../../views/describe-question.ts';
import { formatDuration } from '../../views/format.ts';
import { wrapText } from '../../views/wrap.ts';
import type { View } from './deps.ts';
import { markUndrawable } from './drawable.ts';
import { joinParts } from './line.ts';

/** Marks the continuation of a line, so that it differs from a line break in the call. */
const continuation = '↪ ';

export function questionLines(question: Question, view: View): string[] {
  const width = Math.max(8, view.columns - continuation.length);
  return markUndrawable(describeQuestion(question, false))
    .split('\n')
    .flatMap((line, i) => {
      const pieces = wrapText(line, width);
      return pieces.map((piece, n) => {
        if (n === 0) return joinParts([[piece, i === 0 ? 'bold' : null]], view);
        const [blank = ''] = piece.match(/^ */) ?? [];
        return joinParts([[blank], [continuation, 'dim'], [piece.slice(blank.length), i === 0 ? 'bold' : null]], view);
      });
    });
}

export function questionTitle(question: Question, { open, now }: { open: number; now: number }): string {
  const left = formatDuration(Math.floor(Math.max(0, Date.parse(question.expiresAt) - now) / 1000) * 1000);
  return `${isFlowQuestion(question) ? 'Answer this question?' : 'Approve this call?'} ${left} left${open > 1 ? ` · ${open - 1} more ${open === 2 ? 'waits' : 'wait'}` : ''}`;
}
