// Live pieces as other processes send them.
import type { Delta } from '../contract/delta.ts';

/** Null for anything else than a delta. */
export function readDelta(value: unknown): Delta | null {
  if (typeof value !== 'object' || value === null) return null;
  const { type, runId, turn, kind, text } = value as Record<string, unknown>;
  const isKnown = type === 'delta' && (kind === 'text' || kind === 'reasoning' || kind === 'tool');
  if (!isKnown || typeof runId !== 'string' || typeof turn !== 'number' || typeof text !== 'string') return null;
  return { type, runId, turn, kind, text };
}
