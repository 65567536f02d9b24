// rx: `subagent` delegates within hard limits and returns the same result shape for success and failure.
// Texts quoted from the source are fixed.
import { z } from 'zod';
import type { Artifact } from '../contract/artifact.ts';
import type { ErrorInfo } from '../contract/error.ts';
import type { DelegationRequest, Dialect, DialectContext, DialectTool } from '../ports/dialect.ts';
import { createFailedResponse, findRequestProblem, RxResponse, taskHash } from './rx/envelope.ts';
import { rxParent } from './rx/parent.ts';
import { outcomeToResponse } from './rx/response.ts';
import { parseSettings, RxConfig } from './settings.ts';
import { briefToRequest, omitUndefined, parseDialectBrief } from './shared/brief.ts';
import { toOneLine } from './shared/one-line.ts';
import { createJsonResult, getOnlyChild, maxJsonOutputBytes } from './shared/result.ts';

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

export function rx(config: z.input<typeof RxConfig> = {}): Dialect {
  const settings = { ...defaults, ...omitUndefined(parseSettings('rx', RxConfig, config)) };
  return {
    name: 'rx',
    description: 'rx: one bounded, blocking delegation with a stable result: the same bytes for the same response',
    tools: [createSubagentTool(settings)],
    setup: {
      endsWithClient: true,
      recordsCalls: true,
      limits: { maxDepth: settings.max_depth, maxOutputBytes: maxJsonOutputBytes },
      agents: [rxParent],
      root: rxParent.name,
    },
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
    describeInvalid: formatInvalid,
    toRequest: (input, context) => inputToRequest(input, settings, context),
    fromReply(reply, _, { maxOutputBytes = null }) {
      const child = getOnlyChild(reply);
      if ('error' in child) return createJsonResult(createFailedResponse(formatRefusal(child.error)), { isError: true });
      const { row, outcome } = child.view;
      if (outcome === null) return createJsonResult(createFailedResponse(`run ${row.runId} is still running`));
      const limits = { kinds: settings.artifact_kinds, maxBytes: maxOutputBytes };
      return createJsonResult(outcomeToResponse(outcome, limits), { runs: [row.runId] });
    },
  };
}

function inputToRequest(input: Input, settings: typeof defaults, { call }: DialectContext): DelegationRequest {
  if (!settings.enabled) return { kind: 'refuse', message: 'not enabled' };
  for (const name of ['max_iterations', 'timeout_seconds'] as const) {
    if (input[name] !== undefined && input[name] < 1) return { kind: 'refuse', message: `validation: ${name} (must be at least 1)` };
  }
  const request = {
    task: input.task,
    ...omitUndefined({ context: input.context, files: input.files }),
    max_iterations: Math.min(input.max_iterations ?? settings.max_iterations, settings.max_iterations),
    timeout_seconds: Math.min(input.timeout_seconds ?? settings.timeout_seconds, maxSeconds),
  };
  const correlation = `rx.correlation=${call}`.slice(0, 200);
  const problem = findRequestProblem(correlation, request);
  if (problem !== null) return { kind: 'refuse', message: problem };
  const { max_iterations, timeout_seconds, ...texts } = request;
  const fields = {
    ...texts,
    limits: { maxTurns: max_iterations, timeoutMs: timeout_seconds * 1000 },
    result: { maxBytes: maxSummaryBytes },
    tags: [correlation, `rx.task=${taskHash(input.task)}`],
  };
  const parsed = parseDialectBrief(fields, {});
  return parsed.ok ? briefToRequest(parsed, null) : { kind: 'refuse', message: formatInvalid(parsed.message) };
}

/** `task: must not be empty` becomes `validation: task (must not be empty)`. */
function formatInvalid(problem: string): string {
  const [, path = 'input', why = problem] = /^([^:]+): (.*)$/s.exec(problem) ?? [];
  return `validation: ${path} (${why})`;
}

function formatRefusal({ code, message }: ErrorInfo): string {
  return code === 'invalid_brief' ? toOneLine(message) : `${code}: ${toOneLine(message)}`;
}
