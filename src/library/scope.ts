// A scope: a client run that is created at the first delegation and ends, with everything below it, when the scope closes.
import type { Api } from '../api/api.ts';
import { RetinueError } from '../contract/error.ts';
import type { Json } from '../contract/json.ts';
import { describeArgumentProblems } from '../conversation/argument-problems.ts';
import { renderResultParts } from '../conversation/result-parts.ts';
import { findContextLimits, refuseInput, useDialectTool } from '../kernel/delegation/dialect-tools.ts';
import type { ClientClose } from '../kernel/drivers.ts';
import type { RuntimeClient } from '../kernel/runtime.ts';
import type { DialectResult, DialectTool } from '../ports/dialect.ts';
import { withAbortReason } from '../text/abort-reason.ts';
import { cleanJson } from '../text/clean-json.ts';
import { createDelegating } from './delegating.ts';
import { checkScopeOptions } from './options.ts';
import type { Scope, ScopeOptions, ScopeTool } from './types.ts';

export function createScope(api: Api, given: ScopeOptions): Scope {
  checkScopeOptions(given);
  const { signal, traceparent, tracestate, ...options } = given;
  let client: Promise<RuntimeClient> | null = null;
  let isClosed = false;
  let calls = 0;
  const open = async () => {
    if (signal?.aborted)
      throw new RetinueError('parent_ended', withAbortReason('nothing more can be delegated: this scope was aborted', signal.reason));
    if (isClosed) throw new RetinueError('parent_ended', 'nothing more can be delegated: this scope is closed');
    client ??= api.client({ ...options, trace: { traceparent, tracestate } }).catch((error: unknown) => {
      client = null;
      throw error;
    });
    const opened = await client;
    const lost = (await opened.findEnd())?.lost;
    if (lost) throw new RetinueError(lost.code, `this scope can no longer be used: ${lost.message} Open a new scope.`);
    return opened;
  };
  const end = async (how?: ClientClose) => {
    isClosed = true;
    signal?.removeEventListener('abort', onAbort);
    // A lost scope has nothing left to end.
    const opened = await client?.catch(() => null);
    if (opened && !(await opened.findEnd())?.lost) await opened.close(how);
  };
  const close = () => end();
  const onAbort = () => {
    const reason = withAbortReason('the scope that delegated it was aborted', signal?.reason);
    void end({ gone: false, reason }).catch(() => {});
  };
  signal?.addEventListener('abort', onAbort, { once: true });

  const agents = api.agents().filter(({ modelInvocation }) => modelInvocation !== false);
  const context = {
    door: 'model' as const,
    agents: agents.map(({ name, description }) => ({ name, description })),
    ...findContextLimits(api.dialect, [
      { from: 'config', limits: api.limits ?? {} },
      { from: 'command', limits: options.limits ?? {} },
    ]),
  };
  const toScopeTool = (tool: Api['dialect']['tools'][number]): ScopeTool => ({
    description: tool.description(context),
    inputSchema: tool.input,
    execute: async (input, callOptions) => {
      const { delegation, id, recordCall } = await open();
      const parsed = tool.input.safeParse(input ?? {});
      const record = api.dialect.setup?.recordsCalls
        ? recordCall({ tool: tool.name, arguments: (input ?? {}) as Json, isInvalid: !parsed.success })
        : null;
      const { maxOutputBytes, maxConcurrent } = delegation;
      const use = { ...context, call: record?.id ?? `${id}/${++calls}`, maxOutputBytes, maxConcurrent };
      const result = parsed.success
        ? (await useDialectTool({ tool, input: parsed.data, context: use, signal: callOptions?.abortSignal }, delegation)).result
        : refuseInput(tool as DialectTool, describeArgumentProblems(parsed.error, tool.input, input), use);
      const output = renderResult(result, maxOutputBytes);
      await record?.finish({ output, isError: result.isError });
      return output;
    },
  });
  return {
    ...createDelegating(async (brief, start) => (await open()).delegate(brief, start), api),
    tools: () => Object.fromEntries(api.dialect.tools.map((tool) => [tool.name, toScopeTool(tool)])),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** JSON results are plain JSON, because the program's own agent parses them. Text that a run wrote is fenced in every other result. */
function renderResult({ parts, structured, besideText }: DialectResult, maxBytes: number | null): string {
  return structured === undefined || besideText ? renderResultParts(parts, maxBytes) : JSON.stringify(cleanJson(structured));
}
