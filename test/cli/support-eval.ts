// `retinue eval --json` in the place of a test, with the parts of its report that tests look at.
import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { Place } from './support-process.ts';

export interface EvalReportJson {
  runId: string;
  comparedWith: string | null;
  replayOf: string | null;
  variants: {
    model: string | null;
    rate: { passed: number; judged: number; passRate: number; costUsd: number | null; skipped: number };
    compared: { passRate: number | null; judged: number };
    before: { passRate: number | null; judged: number } | null;
  }[];
  cases: { case: string; change: string; isEdited: boolean; reasons: { reason: string }[]; rate: { passed: number; judged: number } }[];
  results: {
    case: string;
    model: string | null;
    verdict: string;
    reason: string | null;
    runId: string | null;
    durationMs: number | null;
  }[];
}

export async function evaluate(place: Place, ...args: string[]): Promise<EvalReportJson & { code: number | null; err: string }> {
  return evaluateWith({}, place, ...args);
}

/** With more environment variables. */
export async function evaluateWith(variables: Record<string, string>, place: Place, ...args: string[]): ReturnType<typeof evaluate> {
  const { out, err, code } = await place.startWith(variables, 'eval', ...args, '--json', '--allow', 'bash').finished;
  expect(err).not.toContain('bug in Retinue');
  if (out === '') throw new Error(err);
  return { ...JSON.parse(out), code, err };
}

export function change(path: string, edit: (text: string) => string): void {
  writeFileSync(path, edit(readFileSync(path, 'utf8')));
}
