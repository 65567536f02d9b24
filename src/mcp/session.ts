// One client's use of Retinue: the API on its workspace, opened when it is first needed; the root run it delegates from, created at its first
// delegation; and what it has been told, so that nothing that ended while it did not wait is lost.
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import { type Answerer, answerBy } from '../api/answer-by.ts';
import type { Api } from '../api/api.ts';
import { isRetinueError } from '../contract/error.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import { useDialectTool } from '../kernel/dialect-tools.ts';
import type { Client } from '../kernel/runtime.ts';
import type { DelegationRequest, Dialect, DialectContext } from '../ports/dialect.ts';
import { labels, needsClient, nobody, noting, openRuns, readRun } from './delegation.ts';
import { createProgress, type ProgressGround } from './progress.ts';
import { endedSince, refusal, resultOf } from './result.ts';
import { readArguments, toolList } from './tools.ts';

export interface SessionOptions {
  /** The contract as the folder that the server was started in has it: it is shown where nothing could be opened. */
  dialect: Dialect;
  limits: LimitsGiven;
  /** The client's workspace; null where it names none. */
  workspace(): Promise<string | null>;
  /** `drive`: to delegate there; else only to look, which leaves nothing behind. */
  open(workspace: string | null, options: { drive: boolean; asks: boolean }): Promise<Api>;
  /** Who answers where a rule asks; null where nobody can be asked. */
  answerer(): Answerer | null;
  /** What the client calls itself. */
  label(): string;
  every: ProgressGround['every'];
  log(line: string): void;
}

/** A call of a tool. With `detach` as its reason, the signal leaves alone what the call started. */
export interface Call {
  name: string;
  arguments: unknown;
  signal: AbortSignal;
  /** Where the client asked to hear how it goes. */
  progress: ProgressGround['send'] | null;
}

export interface Session {
  tools(): Promise<Tool[]>;
  /** Never rejects: what goes wrong is a result. */
  call(call: Call): Promise<CallToolResult>;
  /** The client has other roots now. They count until something was delegated. */
  moved(): void;
  /** The client went away: what it delegated ends with it, and everything is closed. */
  close(): Promise<void>;
}

export function createSession(options: SessionOptions): Session {
  const { limits, log } = options;
  let at: Promise<string | null> | null = null;
  let opening: Promise<Api> | null = null;
  let client: Promise<Client> | null = null;
  let delegated = false;
  let closed = false;
  let uses = 0;
  const told = new Set<string>();
  /** Calls at work, and the runs whose ends they will tell. */
  const waiting = new Set<{ runs: Set<string>; signal: AbortSignal }>();

  /** Asked for once, until the client says that it is another one. */
  function folder(): Promise<string | null> {
    at ??= options.workspace();
    return at;
  }

  /** A client lists tools wherever it is started, so that makes no database. */
  async function look(): Promise<Tool[]> {
    if (opening) {
      const api = await opening;
      return toolList(api.dialect, agentsOf(api));
    }
    const api = await options.open(await folder(), { drive: false, asks: false });
    try {
      return toolList(api.dialect, agentsOf(api));
    } finally {
      await api.close();
    }
  }

  function opened(): Promise<Api> {
    opening ??= folder()
      .then(async (workspace) => {
        const answerer = options.answerer();
        const api = await options.open(workspace, { drive: true, asks: answerer !== null });
        if (answerer) answerBy(api, answerer);
        return api;
      })
      .catch((error: unknown) => {
        // What was wrong may be put right before the next call.
        opening = null;
        throw error;
      });
    return opening;
  }

  function connected(api: Api): Promise<Client> {
    client ??= api
      .client({ label: options.label(), limits })
      .then((made) => {
        // Somebody may cancel it from another terminal; then the next delegation is a new one's.
        const unwatch = api.watch((event) => {
          if (event.type !== 'run.ended' || event.runId !== made.id) return;
          unwatch();
          client = null;
        });
        return made;
      })
      .catch((error: unknown) => {
        client = null;
        throw error;
      });
    return client;
  }

  async function attempt(call: Call): Promise<CallToolResult> {
    const { name, arguments: args, signal, progress } = call;
    const api = await opened();
    const tool = api.dialect.tools.find((each) => each.name === name);
    if (!tool) return refusal(`the tool ${name} is gone`);
    const read = readArguments(tool, args);
    if (!read.ok) return refusal(`the arguments of ${name} are wrong: ${read.problem}`);
    const context = { door: 'mcp' as const, agents: agentsOf(api) };
    const request = tool.toRequest(read.input, { ...context, call: '' });
    if (!client && !needsClient(request)) {
      const { result } = await useDialectTool({ tool, input: read.input, context: { ...context, call: '' } }, nobody);
      return resultOf(result, nobody.maxOutputBytes);
    }
    const advice = request.kind === 'delegate' ? await adviceFor(request, api) : null;
    if (advice !== null) return refusal(advice);
    // The client may have moved meanwhile.
    if ((await opened()) !== api) return attempt(call);
    if (closed) return refusal('the client is gone');
    delegated = true;
    const { id, delegation } = await connected(api);
    const shown = progress && createProgress({ watch: api.watch, every: options.every, send: progress });
    const own = { runs: new Set<string>(), signal };
    const about = (ids: string[]) => {
      for (const run of ids) own.runs.add(run);
      shown?.follow(ids, labels(delegation));
    };
    if (request.kind === 'wait') about(request.ids ?? openRuns(delegation));
    waiting.add(own);
    try {
      const use = { tool, input: read.input, context: { ...context, call: `${id}/${++uses}` }, signal };
      const used = await useDialectTool(use, noting(delegation, about));
      // Nobody reads the answer to a call that was given up.
      if (!signal.aborted) for (const run of [...used.told, ...readRun(request, delegation)]) told.add(run);
      return resultOf(used.result, delegation.maxOutputBytes);
    } finally {
      waiting.delete(own);
      shown?.end();
    }
  }

  /** One more block for what has ended since. */
  async function withEnded(result: CallToolResult, signal: AbortSignal): Promise<CallToolResult> {
    const made = await client?.catch(() => null);
    const api = await opening?.catch(() => null);
    if (!made || !api || signal.aborted) return result;
    const { delegation } = made;
    const known = (run: string) => told.has(run) || [...waiting].some((each) => !each.signal.aborted && each.runs.has(run));
    const untold = delegation.children().flatMap(({ row, outcome }) => (outcome && !known(row.runId) ? [outcome] : []));
    const more = endedSince(untold, api.dialect.reader ?? null, delegation.maxOutputBytes);
    if (more === null) return result;
    for (const run of more.told) told.add(run);
    return { ...result, content: [...result.content, { type: 'text', text: more.text }] };
  }

  return {
    async tools() {
      try {
        return await look();
      } catch (error) {
        log(`the workspace could not be opened: ${messageOf(error)}`);
        return toolList(options.dialect, []);
      }
    },
    async call(call) {
      try {
        return await withEnded(await attempt(call), call.signal);
      } catch (error) {
        if (!isRetinueError(error)) log(`${call.name} failed: ${(error as Error)?.stack ?? String(error)}`);
        return refusal(messageOf(error));
      }
    },
    moved() {
      if (delegated) {
        log('the client has other roots now; its workspace stays what it was when it first delegated');
        return;
      }
      const old = opening;
      at = null;
      opening = null;
      void old?.then((api) => api.close()).catch(() => {});
    },
    async close() {
      closed = true;
      const api = await opening?.catch(() => null);
      const made = await client?.catch(() => null);
      let open = 0;
      try {
        // Afterwards its delegation is no longer there to be asked.
        open = made ? openRuns(made.delegation).length : 0;
        await made?.close({ gone: true });
      } catch (error) {
        log(notEnded(error, open));
      }
      await api?.close();
    },
  };
}

function agentsOf(api: Api): DialectContext['agents'] {
  return api.agents().map(({ name, description }) => ({ name, description }));
}

async function adviceFor({ briefs }: DelegationRequest & { kind: 'delegate' }, api: Api): Promise<string | null> {
  for (const brief of briefs) {
    const advice = await api.advise(brief);
    if (advice !== null) return advice;
  }
  return null;
}

/** What was paused instead is no failure: another process goes on with it. */
function notEnded(error: unknown, open: number): string {
  if (!isRetinueError(error) || error.code !== 'paused') return `could not end what was delegated: ${messageOf(error)}`;
  return `${open} ${open === 1 ? 'run was' : 'runs were'} paused; \`retinue resume\` goes on with ${open === 1 ? 'it' : 'them'}`;
}

function messageOf(error: unknown): string {
  return String((error as Error)?.message ?? error);
}
