// The result of the source as data: `SubagentResult`.
import { z } from 'zod';
import type { Artifact } from '../../contract/artifact.ts';
import type { Outcome } from '../../contract/outcome.ts';
import type { RunRow } from '../../contract/run.ts';
import { toOneLine } from '../shared/one-line.ts';
import { sumTokens } from '../shared/result.ts';

export const SubagentResult = z.strictObject({
  success: z.boolean(),
  summary: z.string(),
  iterations: z.int(),
  tokens_used: z.int(),
  artifacts: z.record(z.string(), z.string()).optional(),
  terminated: z.string().optional(),
});
export type SubagentResult = z.infer<typeof SubagentResult>;

export function outcomeToResult(outcome: Outcome): SubagentResult {
  const artifacts = listArtifacts(outcome.artifacts);
  return {
    success: outcome.success,
    summary: outcome.summary,
    iterations: outcome.turns,
    tokens_used: sumTokens(outcome.tokens),
    ...(artifacts.size > 0 && { artifacts: Object.fromEntries(artifacts) }),
    ...(!outcome.success && { terminated: formatReason(outcome) }),
  };
}

export function createRunningResult(summary: string, { turns, tokens }: RunRow): SubagentResult {
  return { success: false, summary, iterations: turns, tokens_used: sumTokens(tokens) };
}

export function formatReason({ error, terminated, status }: Outcome): string {
  return error === null ? (terminated ?? status) : toOneLine(error.message);
}

/** Each artifact once, by name: a file that was written several times, or has a path and a diff, is one artifact. Contents stay with the run. */
export function listArtifacts(artifacts: readonly Artifact[]): Map<string, string> {
  const named = new Map<string, string>();
  for (const { kind, value, title } of artifacts) {
    if (kind === 'path') {
      const key = toOneLine(value, 300);
      const earlier = named.get(key);
      if (earlier === undefined || earlier === 'diff') named.set(key, toOneLine(title ?? 'changed', 300));
    } else if (kind === 'diff') {
      const key = toOneLine(title ?? 'diff', 300);
      if (!named.has(key)) named.set(key, 'diff');
    } else addNumbered(named, kind, toOneLine(title ?? value, 300));
  }
  return named;
}

function addNumbered(named: Map<string, string>, kind: string, shown: string): void {
  for (let n = 1; ; n++) {
    const key = n === 1 ? kind : `${kind} ${n}`;
    const taken = named.get(key);
    if (taken === shown) return;
    if (taken === undefined) return void named.set(key, shown);
  }
}
