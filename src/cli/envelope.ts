// rx's envelope on the command line: one request from standard input, one response to standard output, whatever becomes of it.
import type { Api } from '../api/api.ts';
import { isRetinueError, RetinueError } from '../contract/error.ts';
import type { Outcome } from '../contract/outcome.ts';
import {
  createFailedResponse,
  createRefusedEnvelope,
  maxRequestBytes,
  parseRequestEnvelope,
  type RxRequestEnvelope,
  RxResponse,
  responseEnvelope,
} from '../dialects/rx/envelope.ts';
import { useDialectTool } from '../kernel/dialect-tools.ts';
import { exitCodes } from './errors.ts';
import type { Args } from './flags.ts';
import type { Io, Stop } from './io.ts';
import { printJson } from './json.ts';
import { progressFor } from './progress.ts';
import { runFlags, withApi } from './session.ts';

const refusedCode = 2;

/** What is refused is a response too, so that whoever sent the request reads one in any case; its exit code is that of wrong usage. */
export async function runEnvelope(args: Args, io: Io): Promise<number> {
  const other = ['task', 'context', 'agent'].find((name) => args.value(name) !== undefined);
  if (other !== undefined)
    throw new RetinueError('usage', `--envelope and --${other} exclude each other: the request says what is to be done`);
  const text = await textOf(io);
  const read = text === null ? tooLarge : parseRequestEnvelope(text);
  if (!read.ok) {
    printJson(io, createRefusedEnvelope(text ?? '', read.error));
    return refusedCode;
  }
  const flags = runFlags(args);
  return withApi(io, { flags, drive: true, dialect: 'rx', agents: { chosen: undefined } }, async (api) => {
    const { response, outcome, stopped } = await answer(read.envelope, { io, api, limits: flags.limits });
    printJson(io, responseEnvelope(read.envelope, response, outcome?.startedAt ?? null));
    if (stopped === 'interrupt') return exitCodes.cancelled;
    return outcome === null ? refusedCode : exitCodes[outcome.status];
  });
}

const tooLarge = { ok: false, error: `validation: envelope (has more than ${maxRequestBytes} bytes)` } as const;

/** Null where there is more than standard input may hold: an envelope may have less. */
async function textOf(io: Io): Promise<string | null> {
  try {
    return await io.readStdin();
  } catch (error) {
    if (isRetinueError(error) && error.code === 'usage') return null;
    throw error;
  }
}

interface Ground {
  io: Io;
  api: Api;
  limits: NonNullable<Parameters<Api['client']>[0]>['limits'];
}

interface Answered {
  response: RxResponse;
  /** Null where nothing was started. */
  outcome: Outcome | null;
  stopped: Stop | null;
}

/** The dialect's own tool, used once by a client: the same bounds, facts and bytes as over any other door. */
async function answer({ correlation_id, request }: RxRequestEnvelope, { io, api, limits = {} }: Ground): Promise<Answered> {
  const [tool] = api.dialect.tools;
  if (!tool) throw new RetinueError('internal', 'the dialect rx has no tool');
  const advice = await api.advise({});
  if (advice !== null) return { response: createFailedResponse(`unknown_model: ${advice}`), outcome: null, stopped: null };
  const progress = progressFor(io, { stream: false, plain: true });
  const stop = new AbortController();
  let stopped: Stop | null = null;
  const release = io.onInterrupt((why) => {
    if (stopped !== null && why === 'interrupt') io.exitNow(exitCodes.cancelled);
    stopped ??= why;
    stop.abort('cancelled');
  });
  const unwatch = api.watch(progress.event);
  try {
    const client = await api.client({ label: 'envelope', limits });
    const context = { door: 'model' as const, agents: [], call: correlation_id };
    const { result, told } = await useDialectTool(
      { tool, input: tool.input.parse(request), context, signal: stop.signal },
      client.delegation,
    );
    const outcome = client.delegation.view(told[0] ?? '')?.outcome ?? null;
    await client.close();
    return { response: RxResponse.parse(result.structured), outcome, stopped };
  } finally {
    unwatch();
    release();
    progress.end(null);
  }
}
