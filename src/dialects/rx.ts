// rx: `subagent` delegates within hard limits and returns the same result shape for success and failure.
// Texts quoted from the source are fixed.
import { z } from 'zod';
import type { Artifact } from '../contract/artifact.ts';
import type { ErrorInfo } from '../contract/error.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { DelegationRequest, Dialect, DialectContext, DialectTool } from '../ports/dialect.ts';
import { createFailedResponse, maxArtifacts, orderResponseKeys, RxResponse, taskHash } from './rx/envelope.ts';
import { parseSettings, RxConfig } from './settings.ts';
import { briefToRequest, omitUndefined, parseBrief } from './shared/brief.ts';
import { toOneLine } from './shared/one-line.ts';
import { createJsonResult, formatSummary, getOnlyChild, maxJsonOutputBytes } from './shared/result.ts';

type Kind = Artifact['kind'];
const defaults = {
  enabled: true,
  max_depth: 1,
  max_iterations: 8,
  timeout_seconds: 120,
  artifact_kinds: ['note', 'path', 'diff', 'json'] as Kind[],
};
const maxSeconds = 600;
const maxSummaryBytes = 16_384;
const maxArtifactChars = 4096;

export function rx(config: z.input<typeof RxConfig> = {}): Dialect {
  const settings = { ...defaults, ...omitUndefined(parseSettings('rx', RxConfig, config)) };
  return {
    name: 'rx',
    description: 'rx: one bounded, blocking delegation with a stable result: the same bytes for the same response',
    tools: [createSubagentTool(settings)],
    setup: { endsWithClient: true, limits: { maxDepth: settings.max_depth, maxOutputBytes: maxJsonOutputBytes } },
  };
}

const createInput = ({ max_iterations, timeout_seconds }: typeof defaults) =>
  z.strictObject({
    task: z.string().describe('Delegated objective for the subagent'),
    context: z.string().optional().describe('Additional scoped context payload'),
    files: z.array(z.string()).optional().describe('File hints for targeted reading'),
    max_iterations: z
      .int()
      .optional()
      .meta({ minimum: 1 })
      .describe(`Subagent iteration cap; larger values become ${max_iterations} (default ${max_iterations})`),
    timeout_seconds: z
      .int()
      .optional()
      .meta({ minimum: 1 })
      .describe(`Time limit of the subagent; larger values become ${maxSeconds} (default ${Math.min(timeout_seconds, maxSeconds)})`),
  });
type Input = z.infer<ReturnType<typeof createInput>>;

function createSubagentTool(settings: typeof defaults): DialectTool<Input> {
  return {
    name: 'subagent',
    title: 'Delegate to a subagent',
    description: () =>
      'Delegates one bounded task to a subagent with a fresh context and waits for its result: a summary, artifacts, and an error if it ' +
      'failed. Use it for focused research, narrow code scans, and synthesis that would fill this context.',
    input: createInput(settings),
    output: RxResponse,
    readOnly: false,
    destructive: false,
    toRequest: (input, context) => inputToRequest(input, settings, context),
    fromReply(reply) {
      const child = getOnlyChild(reply);
      if ('error' in child) return createJsonResult(createFailedResponse(formatRefusal(child.error)), { isError: true });
      const { row, outcome } = child.view;
      if (outcome === null) return createJsonResult(createFailedResponse(`run ${row.runId} is still running`));
      return createJsonResult(outcomeToResponse(outcome, settings.artifact_kinds), { runs: [row.runId] });
    },
  };
}

function inputToRequest(input: Input, settings: typeof defaults, { call }: DialectContext): DelegationRequest {
  if (!settings.enabled) return { kind: 'refuse', message: 'not enabled' };
  for (const name of ['max_iterations', 'timeout_seconds'] as const) {
    if (input[name] !== undefined && input[name] < 1) return { kind: 'refuse', message: `validation: ${name} (must be at least 1)` };
  }
  const seconds = Math.min(input.timeout_seconds ?? settings.timeout_seconds, maxSeconds);
  const fields = {
    task: input.task,
    ...omitUndefined({ context: input.context, files: input.files }),
    limits: { maxTurns: Math.min(input.max_iterations ?? settings.max_iterations, settings.max_iterations), timeoutMs: seconds * 1000 },
    result: { maxBytes: maxSummaryBytes },
    tags: [`rx.correlation=${call}`.slice(0, 200), `rx.task=${taskHash(input.task)}`],
  };
  const parsed = parseBrief(fields, {});
  return parsed.ok ? briefToRequest(parsed, null) : { kind: 'refuse', message: `validation: ${parsed.message}` };
}

/** The same outcome gives the same bytes, except for the duration. */
function outcomeToResponse(outcome: Outcome, allowed: readonly Kind[]): RxResponse {
  const artifacts = outcome.artifacts.slice(0, maxArtifacts);
  const disallowed = artifacts.findIndex(({ kind }) => !allowed.includes(kind));
  const error = disallowed === -1 ? formatOutcomeError(outcome) : `validation: artifacts.${disallowed}.kind`;
  return orderResponseKeys({
    success: outcome.success && disallowed === -1,
    summary: formatSummary(outcome),
    artifacts: artifacts.filter(({ kind }) => allowed.includes(kind)).map(shortenArtifact),
    ...(error !== null && { error }),
    ...(outcome.status === 'timed_out' && { timed_out: true }),
    duration_ms: outcome.durationMs,
  });
}

function shortenArtifact({ kind, value, title }: Artifact): { kind: Kind; value: string } {
  const whole = value === '' ? (title ?? '') : value;
  if (whole.length <= maxArtifactChars) return { kind, value: whole };
  const kept = whole.slice(0, maxArtifactChars).toWellFormed();
  return { kind, value: `${kept}\n[truncated: kept ${Buffer.byteLength(kept)} of ${Buffer.byteLength(whole)} bytes]` };
}

function formatOutcomeError({ status, error }: Outcome): string | null {
  if (status === 'timed_out') return 'timed out';
  if (error === null) return null;
  if (error.code === 'invalid_reply') return `validation: ${/^[^\s:]+/.exec(error.message)?.[0] ?? 'reply'}`;
  if (error.code === 'result_invalid') return 'validation: data';
  return `${error.code}: ${toOneLine(error.message)}`;
}

function formatRefusal({ code, message }: ErrorInfo): string {
  return code === 'invalid_brief' ? toOneLine(message) : `${code}: ${toOneLine(message)}`;
}
