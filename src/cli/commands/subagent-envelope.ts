// `retinue subagent --envelope`: one rx request from standard input, one rx response on standard output, whatever the result.
import type { Api } from '../../api/api.ts';
import { isRetinueError, RetinueError } from '../../contract/error.ts';
import type { Json } from '../../contract/json.ts';
import type { Outcome } from '../../contract/outcome.ts';
import {
  createFailedResponse,
  createRefusedEnvelope,
  maxRequestBytes,
  parseRequestEnvelope,
  type RxRequestEnvelope,
  RxResponse,
  responseEnvelope,
} from '../../dialects/rx/envelope.ts';
import { useDialectTool } from '../../kernel/delegation/dialect-tools.ts';
import type { Args } from '../args/parse-args.ts';
import { runSettings } from '../args/settings-flags.ts';
import { exitCodes } from '../errors.ts';
import type { Io, Stop } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { createProgress } from '../progress/progress.ts';
import { withApi } from '../session/open-api.ts';

const invalidRequestCode = 2;

export async function runEnvelope(args: Args, io: Io): Promise<number> {
  const other = ['task', 'context', 'agent'].find((name) => args.value(name) !== undefined);
  if (other !== undefined) throw new RetinueError('usage', `--envelope and --${other} cannot be combined: the request contains the task`);
  const text = await readRequestText(io);
  const read = text === null ? tooLarge : parseRequestEnvelope(text);
  if (!read.ok) {
    printJson(io, createRefusedEnvelope(text ?? '', read.error));
    return invalidRequestCode;
  }
  const flags = runSettings(args);
  return withApi(io, { flags, drive: true, startsRuns: true, dialect: 'rx', agents: { chosen: undefined } }, async (api) => {
    const { response, outcome, stopped } = await runRequest(read.envelope, { io, api, limits: flags.limits });
    printJson(io, responseEnvelope(read.envelope, response, outcome?.startedAt ?? null));
    if (stopped === 'interrupt') return exitCodes.cancelled;
    return outcome === null ? invalidRequestCode : exitCodes[outcome.status];
  });
}

const tooLarge = { ok: false, error: `validation: envelope (has more than ${maxRequestBytes} bytes)` } as const;

/** Null if standard input is larger than any command accepts, and so larger than an envelope may be. */
async function readRequestText(io: Io): Promise<string | null> {
  try {
    return await io.readStdin();
  } catch (error) {
    if (isRetinueError(error) && error.code === 'usage') return null;
    throw error;
  }
}

interface EnvelopeDeps {
  io: Io;
  api: Api;
  limits: NonNullable<Parameters<Api['client']>[0]>['limits'];
}

interface EnvelopeResult {
  response: RxResponse;
  /** Null if no run was started. */
  outcome: Outcome | null;
  stopped: Stop | null;
}

/** Calls the dialect's own tool as a client would, so limits, facts and bytes are the same as everywhere else. */
async function runRequest({ correlation_id, request }: RxRequestEnvelope, { io, api, limits = {} }: EnvelopeDeps): Promise<EnvelopeResult> {
  const [tool] = api.dialect.tools;
  if (!tool) throw new RetinueError('internal', 'the dialect rx has no tool');
  const advice = await api.advise({});
  if (advice !== null) return { response: createFailedResponse(`unknown_model: ${advice}`), outcome: null, stopped: null };
  const progress = createProgress(io, { stream: false, plain: true });
  const stop = new AbortController();
  let stopped: Stop | null = null;
  const release = io.onInterrupt((why) => {
    if (stopped !== null && why === 'interrupt') io.exitNow(exitCodes.cancelled);
    stopped ??= why;
    stop.abort('cancelled');
  });
  const unwatch = api.watch(progress.handleEvent);
  try {
    const client = await api.client({ label: 'envelope', limits });
    const context = { door: 'model' as const, agents: [], call: correlation_id };
    const record = client.recordCall({ tool: tool.name, arguments: request as Json, isInvalid: false });
    const { result, told } = await useDialectTool(
      { tool, input: tool.input.parse(request), context, signal: stop.signal },
      client.delegation,
    );
    const outcome = client.delegation.view(told[0] ?? '')?.outcome ?? null;
    await record.finish({ output: JSON.stringify(result.structured), isError: result.isError });
    await client.close();
    return { response: RxResponse.parse(result.structured), outcome, stopped };
  } finally {
    unwatch();
    release();
    progress.end(null);
  }
}
