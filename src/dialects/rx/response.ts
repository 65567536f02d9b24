// From an outcome to a response of rx, within the limits of the envelope. What was cut is listed in `truncated`.
import type { Artifact } from '../../contract/artifact.ts';
import type { Outcome } from '../../contract/outcome.ts';
import { cutBytes, formatTruncation } from '../../text/cut.ts';
import { fitJson, measureJson } from '../../text/fit-json.ts';
import { toOneLine } from '../shared/one-line.ts';
import { formatSummary } from '../shared/result.ts';
import { maxArtifacts, maxResponseBytes, orderResponseKeys, type RxResponse, type RxTruncation } from './envelope.ts';

type Kind = Artifact['kind'];

const maxArtifactBytes = 4096;
/** The most that an envelope adds to a response. */
const envelopeBytes = 2048;

export interface ResponseLimits {
  kinds: readonly Kind[];
  /** Of the caller; null if it has none. */
  maxBytes: number | null;
}

/** The same outcome gives the same bytes, except for the duration. */
export function outcomeToResponse(outcome: Outcome, { kinds, maxBytes }: ResponseLimits): RxResponse {
  const considered = outcome.artifacts.slice(0, maxArtifacts);
  const disallowed = considered.findIndex(({ kind }) => !kinds.includes(kind));
  const error = disallowed === -1 ? formatOutcomeError(outcome) : `validation: artifacts.${disallowed}.kind`;
  const shortened = considered.filter(({ kind }) => kinds.includes(kind)).map(shortenArtifact);
  const { truncated } = outcome;
  const lost: RxTruncation[] = [
    ...(truncated === null
      ? []
      : [{ path: 'summary', unit: 'bytes' as const, original: truncated.originalBytes, kept: truncated.keptBytes }]),
    ...shortened.flatMap(({ cut }, index) => (cut === null ? [] : [{ path: `artifacts.${index}.value`, unit: 'bytes' as const, ...cut }])),
    ...(outcome.artifacts.length > considered.length ? [dropped(outcome.artifacts.length, considered.length)] : []),
  ];
  const response: RxResponse = {
    success: outcome.success && disallowed === -1,
    summary: formatSummary(outcome),
    artifacts: shortened.map(({ artifact }) => artifact),
    ...(error !== null && { error }),
    ...(outcome.status === 'timed_out' && { timed_out: true }),
    ...(lost.length > 0 && { truncated: lost }),
    duration_ms: outcome.durationMs,
  };
  const limit = Math.min(maxResponseBytes - envelopeBytes, maxBytes ?? Number.POSITIVE_INFINITY);
  return orderResponseKeys(
    fitResponse(response, { limit, artifacts: outcome.artifacts.length, summary: truncated?.originalBytes ?? null }),
  );
}

/** Leaves out artifacts from the end, then cuts the summary, until the response fits. */
function fitResponse(response: RxResponse, whole: { limit: number; artifacts: number; summary: number | null }): RxResponse {
  let fitting = response;
  for (let kept = response.artifacts.length; measureJson(fitting) > whole.limit && kept > 0; ) {
    kept--;
    const others = (response.truncated ?? []).filter(({ path }) => path !== 'artifacts' && !isBeyond(path, kept));
    fitting = { ...response, artifacts: response.artifacts.slice(0, kept), truncated: [...others, dropped(whole.artifacts, kept)] };
  }
  if (measureJson(fitting) <= whole.limit) return fitting;
  const others = (fitting.truncated ?? []).filter(({ path }) => path !== 'summary');
  const original = whole.summary ?? Buffer.byteLength(fitting.summary);
  const entry = (kept: number): RxTruncation => ({ path: 'summary', unit: 'bytes', original, kept });
  const { summary } = fitJson({ ...fitting, truncated: [entry(original), ...others] }, whole.limit);
  const kept = Buffer.byteLength(summary.slice(0, Math.max(0, summary.lastIndexOf('\n[truncated: '))));
  return { ...fitting, summary, truncated: [entry(kept), ...others] };
}

function isBeyond(path: string, kept: number): boolean {
  const [, index] = /^artifacts\.(\d+)\./.exec(path) ?? [];
  return index !== undefined && Number(index) >= kept;
}

function dropped(original: number, kept: number): RxTruncation {
  return { path: 'artifacts', unit: 'items', original, kept };
}

/** A JSON value is cut inside its strings, so that it stays JSON. */
function shortenArtifact({ kind, value, title }: Artifact): {
  artifact: { kind: Kind; value: string };
  cut: { original: number; kept: number } | null;
} {
  const whole = value === '' ? (title ?? '') : value;
  const original = Buffer.byteLength(whole);
  if (original <= maxArtifactBytes) return { artifact: { kind, value: whole }, cut: null };
  const json = kind === 'json' ? fitJsonText(whole) : null;
  if (json !== null) return { artifact: { kind, value: json }, cut: { original, kept: Buffer.byteLength(json) } };
  const cut = cutBytes(whole, maxArtifactBytes);
  return { artifact: { kind, value: `${cut.text}\n${formatTruncation(cut)}` }, cut: { original, kept: cut.keptBytes } };
}

/** Null if it is not JSON, or has too many short values to fit. */
function fitJsonText(text: string): string | null {
  try {
    const fitted = JSON.stringify(fitJson(JSON.parse(text), maxArtifactBytes));
    return Buffer.byteLength(fitted) <= maxArtifactBytes ? fitted : null;
  } catch {
    return null;
  }
}

function formatOutcomeError({ status, error }: Outcome): string | null {
  if (status === 'timed_out') return 'timed out';
  if (error === null) return null;
  if (error.code === 'invalid_reply') return `validation: ${/^[^\s:]+/.exec(error.message)?.[0] ?? 'reply'}`;
  if (error.code === 'result_invalid') return 'validation: data';
  return `${error.code}: ${toOneLine(error.message)}`;
}
