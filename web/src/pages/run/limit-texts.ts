import type { LimitName, LimitSource } from '../../../../src/contract/limits.ts';
import { formatBytes, formatDuration } from '../../../../src/views/format.ts';

export const limitNames: { name: LimitName; label: string }[] = [
  { name: 'maxTurns', label: 'Turns' },
  { name: 'timeoutMs', label: 'Time' },
  { name: 'maxTokens', label: 'Tokens of the tree' },
  { name: 'maxCostUsd', label: 'Cost of the tree' },
  { name: 'maxDepth', label: 'Depth of delegation' },
  { name: 'maxConcurrent', label: 'Children at a time' },
  { name: 'maxRuns', label: 'Runs of the tree' },
  { name: 'maxToolCalls', label: 'Tool calls of one answer' },
  { name: 'maxOutputBytes', label: 'Result for its parent' },
  { name: 'firstByteMs', label: 'First answer of the model' },
  { name: 'idleMs', label: 'Silence of the model' },
  { name: 'toolTimeoutMs', label: 'Time of a tool call' },
];

export const sourceTexts: Record<LimitSource, string> = {
  default: 'built-in default',
  dialect: 'default of the dialect',
  config: 'configuration',
  command: 'command line',
  agent: 'agent definition',
  brief: 'brief',
  parent: 'what the parent has left',
  none: 'no limit',
};

/** Null: unlimited. */
export function formatLimit(name: LimitName, value: number | null): string {
  if (value === null) return 'unlimited';
  if (name.endsWith('Ms')) return formatDuration(value);
  if (name === 'maxCostUsd') return `$${value}`;
  return name === 'maxOutputBytes' ? formatBytes(value) : value.toLocaleString('en');
}
