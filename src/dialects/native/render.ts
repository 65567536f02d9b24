import type { Artifact } from '../../contract/artifact.ts';
import type { ErrorInfo } from '../../contract/error.ts';
import type { Outcome } from '../../contract/outcome.ts';
import type { ChildView } from '../../ports/delegation.ts';
import type { ChildReply, DelegationReply, DialectResult, ResultPart } from '../../ports/dialect.ts';
import { oneLine } from '../shared/one-line.ts';

/**
 * How runs read in results. Each begins with one fixed line; what a child wrote is a part of its own, marked with its run.
 * Lines of ours hold no line breaks from elsewhere, so that nothing inside one can pass for another.
 */

/** `refusedAs` names what was asked for where it was refused; `index` counts from 0. */
export function childrenResult(
  children: ChildReply[],
  refusedAs: (child: ChildReply & { ok: false }, index: number) => string,
): DialectResult {
  const parts = children.flatMap((child, index): ResultPart[] =>
    child.ok ? childParts(child.view) : [{ text: `[${oneLine(refusedAs(child, index))} · refused] ${errorLine(child.error)}` }],
  );
  return { parts, isError: children.length > 0 && children.every((child) => !child.ok) };
}

export function childParts(view: ChildView): ResultPart[] {
  const head = { text: headLine(view) };
  return view.outcome === null ? [head] : [head, ...outcomeParts(view.outcome)];
}

/** What a tool answers to a reply that is none of its own: a refusal, and else nothing that can happen. */
export function refusal(reply: DelegationReply): DialectResult {
  const error: ErrorInfo =
    reply.kind === 'refused' ? reply.error : { code: 'internal', message: 'this reply fits no such call', retryable: false };
  return { parts: [{ text: `[refused] ${errorLine(error)}` }], isError: true };
}

export function headLine({ row, outcome }: ChildView): string {
  const { turns, costUsd } = outcome ?? row;
  const files = filesChanged(outcome?.artifacts ?? []);
  const facts = [`run ${row.runId}`, outcome?.status ?? row.status, count(turns, 'turn'), dollars(costUsd)];
  if (files > 0) facts.push(`${count(files, 'file')} changed`);
  if (row.label !== null && row.label !== '') facts.push(JSON.stringify(oneLine(row.label)));
  return `[${facts.join(' · ')}]`;
}

function outcomeParts(outcome: Outcome): ResultPart[] {
  const run = outcome.runId;
  const parts: ResultPart[] = [];
  if (outcome.error !== null) parts.push({ text: errorLine(outcome.error) });
  else if (outcome.terminated !== null) parts.push({ text: `ended by ${outcome.terminated}` });
  if (outcome.summary !== '') parts.push({ text: outcome.summary, run });
  if (outcome.data !== undefined) parts.push({ text: JSON.stringify(outcome.data), run });
  if (outcome.truncated !== null) {
    const { keptBytes, originalBytes } = outcome.truncated;
    // The outcome keeps the beginning of the summary, so the rest begins where it ends.
    const rest = JSON.stringify({ id: run, part: 'summary', offset: outcome.summary.length });
    parts.push({ text: `${keptBytes} of ${originalBytes} bytes shown; the rest: delegate_read ${rest}` });
  }
  return parts;
}

function filesChanged(artifacts: Artifact[]): number {
  const names = artifacts.flatMap(({ kind, value, title }) => (kind === 'path' ? [value] : kind === 'diff' ? [title ?? value] : []));
  return new Set(names).size;
}

function dollars(cost: number | null): string {
  if (cost === null) return '$?';
  return `$${cost.toFixed(cost === 0 || cost >= 0.01 ? 2 : 4)}`;
}

function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}

function errorLine({ code, message }: ErrorInfo): string {
  return `${code}: ${oneLine(message)}`;
}
