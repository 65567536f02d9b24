import type { Effort } from '../contract/effort.ts';

export function formatEffort(effort: Effort): string {
  return typeof effort === 'number' ? `${effort} thinking tokens` : effort;
}
