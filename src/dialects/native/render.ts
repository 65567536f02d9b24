// How runs appear in results. Each starts with one line of fixed format; text that a child wrote is a part of its own, marked with its run.
// Our lines contain no line breaks from elsewhere, so that foreign text cannot imitate one of them.
import type { Artifact } from '../../contract/artifact.ts';
import type { ErrorInfo } from '../../contract/error.ts';
import type { Outcome } from '../../contract/outcome.ts';
import type { ChildView } from '../../ports/delegation.ts';
import type { ChildReply, DelegationReply, DelegationRequest, DialectResult, ResultPart } from '../../ports/dialect.ts';
import { verifiedWord } from '../../text/verified.ts';
import { toOneLine } from '../shared/one-line.ts';
import { getReplyError, isPatch, nameIdParameter } from '../shared/result.ts';

/** `nameRefused` names what was asked for, for the line of a refused child; `index` starts at 0. */
export function formatChildren(
  children: ChildReply[],
  nameRefused: (child: ChildReply & { ok: false }, index: number) => string,
): DialectResult {
  const parts = children.flatMap((child, index): ResultPart[] =>
    child.ok ? formatChild(child.view) : [{ text: `[${toOneLine(nameRefused(child, index))} · refused] ${formatError(child.error)}` }],
  );
  return { parts, isError: children.length > 0 && children.every((child) => !child.ok) };
}

/** The same for runs that the caller named by `parameter`. */
export function formatNamedRuns(children: ChildReply[], parameter: string): DialectResult {
  const named = children.map((child) => (child.ok ? child : { ...child, error: nameIdParameter(child.error, parameter) }));
  return formatChildren(named, ({ asked }) => `run ${asked ?? '?'}`);
}

function formatChild(view: ChildView): ResultPart[] {
  const head = { text: formatHeadLine(view) };
  return view.outcome === null ? [head] : [head, ...formatOutcome(view.outcome)];
}

/** The result for a request that was refused as a whole. `parameter`: the one that names runs. */
export function createRefusal(reply: DelegationReply, parameter: string): DialectResult {
  return { parts: [{ text: `[refused] ${formatError(nameIdParameter(getReplyError(reply), parameter))}` }], isError: true };
}

function formatHeadLine({ row, outcome }: ChildView): string {
  const { turns, costUsd } = outcome ?? row;
  const changedFiles = countChangedFiles(outcome?.artifacts ?? []);
  const verified = outcome && verifiedWord(outcome);
  const status = [outcome?.status ?? row.status, ...(verified ? [verified] : [])];
  const fields = [`run ${row.runId}`, ...status, formatCount(turns, 'turn'), formatCost(costUsd)];
  if (changedFiles > 0) fields.push(`${formatCount(changedFiles, 'file')} changed`);
  if (row.label !== null && row.label !== '') fields.push(JSON.stringify(toOneLine(row.label)));
  return `[${fields.join(' · ')}]`;
}

function formatOutcome(outcome: Outcome): ResultPart[] {
  const run = outcome.runId;
  const parts: ResultPart[] = [];
  if (outcome.error !== null) parts.push({ text: formatError(outcome.error) });
  else if (outcome.terminated !== null) parts.push({ text: `Reason: ${outcome.terminated}` });
  for (const notice of outcome.notices ?? []) parts.push({ text: `Note: ${toOneLine(notice)}` });
  if (outcome.artifacts.some(isPatch))
    parts.push({ text: 'Its changes are in its own copy of the files. Use delegate_apply to take them over.' });
  if (outcome.summary !== '') parts.push({ text: outcome.summary, run });
  if (outcome.data !== undefined) parts.push({ text: JSON.stringify(outcome.data), run });
  if (outcome.truncated !== null) {
    const { keptBytes, originalBytes } = outcome.truncated;
    // The outcome keeps the start of the summary, so the rest starts where it ends.
    const rest = JSON.stringify({ id: run, part: 'summary', offset: outcome.summary.length });
    parts.push({ text: `Shown: ${keptBytes} of ${originalBytes} bytes. Read the rest with delegate_read ${rest}` });
  }
  return parts;
}

/** Shows paths one by one, which may be any text. */
export function formatApplied({ report }: DelegationReply & { kind: 'applied' }, request: DelegationRequest): DialectResult {
  const isCheck = request.kind === 'apply' && request.check;
  const { applied, conflicts, files, left } = report;
  const list = (paths: string[]) => paths.map((path) => JSON.stringify(toOneLine(path))).join(', ');
  const done = `[${isCheck ? 'would apply' : 'applied'} · ${formatCount(applied.length, 'run')} · ${formatCount(files.length, 'file')}]`;
  const parts: ResultPart[] = [{ text: files.length === 0 ? done : `${done} ${list(files)}` }];
  for (const { runId, paths } of conflicts) {
    const reasons = paths.map(({ path, reason }) => `${list([path])} ${toOneLine(reason)}`);
    parts.push({ text: `[run ${runId} · conflict · not applied] ${reasons.join('; ')}` });
  }
  if (left.length > 0) parts.push({ text: `Left alone, because they changed in the meantime: ${list(left)}` });
  return { parts, isError: applied.length === 0 && conflicts.length > 0 };
}

function countChangedFiles(artifacts: Artifact[]): number {
  const patch = artifacts.find(isPatch);
  if (patch) return patch.value.split('\n').length;
  const names = artifacts.flatMap(({ kind, value, title }) => (kind === 'path' ? [value] : kind === 'diff' ? [title ?? value] : []));
  return new Set(names).size;
}

function formatCost(costUsd: number | null): string {
  if (costUsd === null) return '$?';
  return `$${costUsd.toFixed(costUsd === 0 || costUsd >= 0.01 ? 2 : 4)}`;
}

function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function formatError({ code, message }: ErrorInfo): string {
  return `${code}: ${toOneLine(message)}`;
}
