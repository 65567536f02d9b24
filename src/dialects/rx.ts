// rx: `subagent` delegates within hard bounds and gives one stable shape, whatever happened.
import { z } from 'zod';
import type { Artifact } from '../contract/artifact.ts';
import type { ErrorInfo } from '../contract/error.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { DelegationRequest, Dialect, DialectContext, DialectTool } from '../ports/dialect.ts';
import { failedResponse, maxArtifacts, normalResponse, RxResponse, taskHash } from './rx/envelope.ts';
import { RxConfig, readSettings } from './settings.ts';
import { delegateOne, given, readBrief } from './shared/brief.ts';
import { oneLine } from './shared/one-line.ts';
import { jsonOutputBytes, jsonResult, onlyChild, textWithNotice } from './shared/result.ts';

type Kind = Artifact['kind'];
const defaults = {
  enabled: true,
  max_depth: 1,
  max_iterations: 8,
  timeout_seconds: 120,
  artifact_kinds: ['note', 'path', 'diff', 'json'] as Kind[],
};
const mostSeconds = 600;
const summaryBytes = 16_384;
const artifactChars = 4096;

export function rx(config: z.input<typeof RxConfig> = {}): Dialect {
  const settings = { ...defaults, ...given(readSettings('rx', RxConfig, config)) };
  return {
    name: 'rx',
    description: 'rx: one bounded, blocking delegation with a stable result, the same bytes for the same response',
    tools: [subagent(settings)],
    setup: { endsWithClient: true, limits: { maxDepth: settings.max_depth, maxOutputBytes: jsonOutputBytes } },
  };
}

const Input = ({ max_iterations, timeout_seconds }: typeof defaults) =>
  z.strictObject({
    task: z.string().describe('Delegated objective for the subagent'),
    context: z.string().optional().describe('Additional scoped context payload'),
    files: z.array(z.string()).optional().describe('File hints for targeted reading'),
    max_iterations: z
      .int()
      .optional()
      .meta({ minimum: 1 })
      .describe(`Subagent iteration cap; more than ${max_iterations} becomes ${max_iterations} (default ${max_iterations})`),
    timeout_seconds: z
      .int()
      .optional()
      .meta({ minimum: 1 })
      .describe(
        `Time for the subagent; more than ${mostSeconds} becomes ${mostSeconds} (default ${Math.min(timeout_seconds, mostSeconds)})`,
      ),
  });
type Input = z.infer<ReturnType<typeof Input>>;

function subagent(settings: typeof defaults): DialectTool<Input> {
  return {
    name: 'subagent',
    title: 'Delegate to a subagent',
    description: () =>
      'Delegates one bounded task to a subagent with a fresh context and waits for its result: a summary, artifacts, and an error where it ' +
      'failed. For focused research, narrow scans of the code, and synthesis that would fill this context.',
    input: Input(settings),
    output: RxResponse,
    readOnly: false,
    destructive: false,
    toRequest: (input, context) => requestOf(input, settings, context),
    fromReply(reply) {
      const child = onlyChild(reply);
      if ('error' in child) return jsonResult(failedResponse(refusal(child.error)), { isError: true });
      const { row, outcome } = child.view;
      if (outcome === null) return jsonResult(failedResponse(`run ${row.runId} is still at work`));
      return jsonResult(responseOf(outcome, settings.artifact_kinds), { runs: [row.runId] });
    },
  };
}

function requestOf(input: Input, settings: typeof defaults, { call }: DialectContext): DelegationRequest {
  if (!settings.enabled) return { kind: 'refuse', message: 'not enabled' };
  for (const name of ['max_iterations', 'timeout_seconds'] as const) {
    if (input[name] !== undefined && input[name] < 1) return { kind: 'refuse', message: `validation: ${name} (must be at least 1)` };
  }
  const seconds = Math.min(input.timeout_seconds ?? settings.timeout_seconds, mostSeconds);
  const fields = {
    task: input.task,
    ...given({ context: input.context, files: input.files }),
    limits: { maxTurns: Math.min(input.max_iterations ?? settings.max_iterations, settings.max_iterations), timeoutMs: seconds * 1000 },
    result: { maxBytes: summaryBytes },
    tags: [`rx.correlation=${call}`.slice(0, 200), `rx.task=${taskHash(input.task)}`],
  };
  const read = readBrief(fields, {});
  return read.ok ? delegateOne(read, null) : { kind: 'refuse', message: `validation: ${read.message}` };
}

/** The same outcome gives the same bytes, but for the time it took. */
function responseOf(outcome: Outcome, allowed: readonly Kind[]): RxResponse {
  const artifacts = outcome.artifacts.slice(0, maxArtifacts);
  const wrong = artifacts.findIndex(({ kind }) => !allowed.includes(kind));
  const error = wrong === -1 ? errorOf(outcome) : `validation: artifacts.${wrong}.kind`;
  return normalResponse({
    success: outcome.success && wrong === -1,
    summary: textWithNotice(outcome),
    artifacts: artifacts.filter(({ kind }) => allowed.includes(kind)).map(artifactOf),
    ...(error !== null && { error }),
    ...(outcome.status === 'timed_out' && { timed_out: true }),
    duration_ms: outcome.durationMs,
  });
}

function artifactOf({ kind, value, title }: Artifact): { kind: Kind; value: string } {
  const whole = value === '' ? (title ?? '') : value;
  if (whole.length <= artifactChars) return { kind, value: whole };
  const kept = whole.slice(0, artifactChars).toWellFormed();
  return { kind, value: `${kept}\n[truncated: kept ${Buffer.byteLength(kept)} of ${Buffer.byteLength(whole)} bytes]` };
}

function errorOf({ status, error }: Outcome): string | null {
  if (status === 'timed_out') return 'timed out';
  if (error === null) return null;
  if (error.code === 'invalid_reply') return `validation: ${/^[^\s:]+/.exec(error.message)?.[0] ?? 'reply'}`;
  if (error.code === 'result_invalid') return 'validation: data';
  return `${error.code}: ${oneLine(error.message)}`;
}

function refusal({ code, message }: ErrorInfo): string {
  return code === 'invalid_brief' ? oneLine(message) : `${code}: ${oneLine(message)}`;
}
