// What a row of an eval says about the eval before: the pass rate, and cost and time where they differ noticeably.
import type { CaseRow, Rate } from '../../evals/compare.ts';
import { formatCost, formatDuration } from '../../views/format.ts';

/** Smaller differences are noise: of this share, and of at least so much for a run. */
const noticeableShare = 0.2;
const noticeableUsd = 0.0005;
const noticeableMs = 2_000;

export function describeChange({ change, rate, before, isEdited }: CaseRow): string {
  const hasChanged = change === 'better' || change === 'worse';
  const rates = hasChanged ? [`${change}, was ${formatRate(before as Rate)}`] : [];
  return [...rates, ...describeFigures(rate, before), ...(isEdited ? ['edited'] : [])].join(', ');
}

/** For a total. */
export function describeRates(rate: Rate, before: Rate | null): string {
  if (rate.passRate === null || before === null || before.passRate === null) return '';
  const points = Math.round((rate.passRate - before.passRate) * 1000) / 10;
  const figures = describeFigures(rate, before);
  const rates = points === 0 ? 'as before' : `${points > 0 ? '+' : ''}${points} points`;
  return points === 0 && figures.length > 0 ? figures.join(', ') : [rates, ...figures].join(', ');
}

/** The earlier figures, for the same number of runs or for one run. */
function describeFigures(rate: Rate, before: Rate | null): string[] {
  if (before === null || rate.runs === 0 || before.runs === 0) return [];
  const isSameCount = rate.runs === before.runs;
  const show = (value: number, format: (value: number) => string) => (isSameCount ? format(value) : `${format(value / before.runs)} a run`);
  const differs = (now: number, then: number, least: number) => {
    const [a, b] = [now / rate.runs, then / before.runs];
    return Math.abs(a - b) >= Math.max(least, noticeableShare * b);
  };
  const hasCosts = rate.costUsd !== null && before.costUsd !== null;
  return [
    ...(hasCosts && differs(rate.costUsd as number, before.costUsd as number, noticeableUsd)
      ? [`cost was ${show(before.costUsd as number, formatCost)}`]
      : []),
    ...(differs(rate.durationMs, before.durationMs, noticeableMs) ? [`time was ${show(before.durationMs, formatDuration)}`] : []),
  ];
}

export function formatRate({ passed, judged, passRate }: Rate): string {
  return passRate === null ? '-' : `${passed}/${judged} ${formatPercent(passRate)}`;
}

export function formatPercent(rate: number): string {
  return `${Math.floor(rate * 1000 + 1e-9) / 10} %`;
}
