// Texts of the costs page. Pure.
import { formatCost, formatCount, formatDuration } from '../../../src/views/format.ts';
import { formatTick } from '../timeline/ticks.ts';
import type { Grouping, Measure, Sum } from './group.ts';

export const measureLabel: Record<Measure, string> = { cost: 'Cost', tokens: 'Tokens', time: 'Time', runs: 'Runs' };
export const groupingLabel: Record<Grouping, string> = { agent: 'Agent', model: 'Model', day: 'Day' };

export function formatMeasure(value: number, measure: Measure): string {
  if (measure === 'cost') return formatCost(value);
  if (measure === 'time') return formatDuration(value);
  return formatCount(value);
}

/** For an axis: neighbours differ. */
export function formatMeasureTick(value: number, measure: Measure, step: number): string {
  if (measure === 'cost') return value === 0 ? '$0' : `$${value.toFixed(Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9))))}`;
  return measure === 'time' ? formatTick(value, step) : formatCount(value);
}

/** `unknown`, `$1.20`, or `$1.20 + unknown` if some prices are not known. */
export function formatSumCost({ costUsd, hasUnknown }: Sum): string {
  if (costUsd === null) return hasUnknown ? 'unknown' : '–';
  return hasUnknown ? `${formatCost(costUsd)} + unknown` : formatCost(costUsd);
}

export function formatSum(sum: Sum, measure: Measure): string {
  if (measure === 'cost') return formatSumCost(sum);
  return formatMeasure({ tokens: sum.input + sum.output, time: sum.ms, runs: sum.runs }[measure], measure);
}
