// What a run ended with; while it is live, what it has to do.

import type { Outcome } from '../../contract/outcome.ts';
import type { LiveRun } from '../../contract/view.ts';
import { sanitizeLine, sanitizeText, stringifySafely } from '../../text/terminal.ts';
import { verifiedWord } from '../../text/verified.ts';
import { describeError } from '../../views/describe-fact.ts';
import {
  formatBytes,
  formatCost,
  formatCount,
  formatDuration,
  formatPlural,
  formatStatus,
  statusGlyph,
  totalTokens,
} from '../../views/format.ts';
import { problemsText } from '../../views/run-row.ts';
import { statusStyle } from '../../views/style.ts';
import type { View } from './deps.ts';
import { joinParts, wrapStyled } from './line.ts';

export function outcomeLines(outcome: Outcome | null, run: LiveRun | undefined, view: View): string[] {
  if (outcome === null) return liveLines(run, view);
  const { status, turns, tokens, costUsd, durationMs, summary, data, artifacts, notices = [] } = outcome;
  const figures = [
    verifiedWord(outcome) ?? '',
    formatPlural(turns, 'turn'),
    `${formatCount(totalTokens(tokens))} tokens`,
    formatCost(costUsd),
    formatDuration(durationMs),
  ];
  const error = describeError(outcome);
  const problems = run ? problemsText(run) : '';
  return [
    joinParts(
      [
        [`${statusGlyph[status]} ${formatStatus(status)}`, statusStyle[status]],
        [`  ${figures.filter((each) => each !== '').join(' · ')}`, 'dim'],
      ],
      view,
    ),
    ...(problems === '' ? [] : wrapStyled(problems, view, { style: 'yellow' })),
    ...(error === '' ? [] : wrapStyled(sanitizeText(error), view, { style: 'red' })),
    ...notices.flatMap((notice) => wrapStyled(sanitizeLine(notice), view, { style: 'yellow' })),
    '',
    ...wrapStyled(sanitizeText(summary.trim()), view),
    ...(data === undefined ? [] : ['', joinParts([['Data', 'bold']], view), ...wrapStyled(stringifySafely(data, 2), view, { indent: 2 })]),
    ...(artifacts.length === 0 ? [] : ['', joinParts([['Artifacts', 'bold']], view)]),
    ...artifacts.map((artifact) =>
      joinParts(
        [[`  ${artifact.kind} `, 'dim'], [sanitizeLine(artifact.title ?? artifact.value)], [`  ${formatBytes(artifact.bytes)}`, 'dim']],
        view,
      ),
    ),
  ];
}

function liveLines(run: LiveRun | undefined, view: View): string[] {
  const limit = run?.deadline == null ? '' : `Its time limit ends in ${formatDuration(Math.max(0, run.deadline - view.now))}.`;
  return [
    ...wrapStyled('This run has not ended yet.', view, { style: 'dim' }),
    ...(limit === '' ? [] : wrapStyled(limit, view, { style: 'dim' })),
    ...(run ? ['', ...wrapStyled(`Task: ${run.task}`, view)] : []),
  ];
}
