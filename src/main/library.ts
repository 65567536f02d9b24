// The library's door: Retinue inside a program of one's own. Memory store by default; `node:sqlite` is loaded only with its store.
import { z } from 'zod';
import { builtInAgents } from '../agents/built-in.ts';
import { createCatalog } from '../agents/catalog.ts';
import { type Answered, answerBy } from '../api/answer-by.ts';
import type { Api, Question } from '../api/api.ts';
import { createApi } from '../api/create.ts';
import type { EventOptions } from '../api/events.ts';
import type { SandboxMode } from '../cli/settings.ts';
import type { Agent } from '../contract/agent.ts';
import type { Brief, ResultForm } from '../contract/brief.ts';
import type { Delta } from '../contract/delta.ts';
import { RetinueError } from '../contract/error.ts';
import type { StoredFact } from '../contract/fact.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import { McpServer, McpServerName } from '../contract/mcp-server.ts';
import type { Outcome } from '../contract/outcome.ts';
import { native } from '../dialects/native.ts';
import { runDialectTool } from '../kernel/dialect-tools.ts';
import type { Client, RunHandle } from '../kernel/runtime.ts';
import { createRuntime } from '../kernel/runtime.ts';
import { createModelCaller } from '../models/call.ts';
import type { Price } from '../models/prices.ts';
import { withPrices } from '../models/prices.ts';
import type { Dialect } from '../ports/dialect.ts';
import type { Store } from '../ports/store.ts';
import { builtInRuleset, capabilities, parseRule } from '../rules/policy.ts';
import { createMemoryStore } from '../stores/memory.ts';
import { createMemoryNotes } from '../stores/notes-memory.ts';
import { systemClock, systemIds } from '../system/clock.ts';
import { createProcessGuard } from '../system/process-guard.ts';
import { type AiTool, aiToolToTool } from '../tools/ai-sdk.ts';
import { builtInTools, workspaceReader } from '../tools/index.ts';
import { compileSchema } from '../tools/json-schema.ts';
import { createMcp } from '../tools/mcp/index.ts';
import { createExecutors, type HostName } from './hosts.ts';
import { type AnyModel, libraryModels } from './library-models.ts';
import { resultOf, type StandardSchema } from './library-result.ts';
import { shellGround } from './sandbox.ts';
import { allServers, createRedact, serverSecrets } from './secrets.ts';

export interface RetinueOptions {
  /** A model object of the AI SDK (V2 to V4), or the name of one (`anthropic/…`). */
  model: AnyModel;
  /** Tools of your own: AI SDK `tool()` objects by name. They are allowed unless a rule says otherwise. */
  tools?: Record<string, AiTool>;
  agents?: Omit<Agent, 'source'>[];
  /** MCP servers by name: their tools are offered as `mcp__NAME__TOOL`. */
  mcpServers?: Record<string, McpServer>;
  /** The directory that tools may touch; the current one where it is absent. */
  workspace?: string;
  rules?: string[];
  /**
   * Answers where a rule says `ask`: true, false, `always` (for the same call in that run and below it), or why not. What it rejects with
   * is a refusal. Without it nobody is asked: every `ask` is a deny.
   */
  approve?(question: Question, signal: AbortSignal): Promise<boolean | 'always' | { refused: string }>;
  /** How long a question waits for that; ten minutes where it is absent. */
  approveMs?: number;
  limits?: LimitsGiven;
  prices?: Record<string, Price>;
  store?: Store;
  /** Where runs execute: in this process, which is the default, or each in one of its own. Tools of your own stay here. */
  host?: HostName;
  /** Whether shell commands run in a sandbox: always (`required`), where there is one (`auto`, which is the default), or never. */
  sandbox?: SandboxMode;
  /** The contract of the delegation tools: one of `retinue/dialects`, or one of your own. The native one where it is absent. */
  dialect?: Dialect;
}

/** A brief whose wanted result may be a schema: then `outcome.data` has its type. */
export type BriefFor<T> = Omit<Brief, 'result'> & { result?: ResultForm | StandardSchema<T> };
export type OutcomeOf<T> = Omit<Outcome, 'data'> & { data?: T };

export interface Run<T> {
  id: string;
  /** Never rejects for an agent's failure. */
  outcome: Promise<OutcomeOf<T>>;
  events(options?: EventOptions): AsyncIterable<StoredFact | Delta>;
  /** `rules` narrow it, and everything below it, from now on. */
  send(text: string, rules?: string[]): Promise<void>;
  cancel(reason: string): Promise<void>;
}

export interface Delegating {
  /** A handle, at once. Rejects with the refusal where the brief is not admitted. */
  delegate<T>(brief: BriefFor<T>): Promise<Run<T>>;
  /** All of them, settled, in the order of the briefs; a brief that is not admitted is rejected with its refusal. */
  all<T>(briefs: BriefFor<T>[], options?: { concurrency?: number }): Promise<PromiseSettledResult<OutcomeOf<T>>[]>;
}

/** One client root: nothing that is delegated through it outlives it. */
export interface Scope extends Delegating, AsyncDisposable {
  /** Delegation for an agent of your own: tools for the AI SDK's `ToolLoopAgent`, `generateText` and the like. */
  tools(): Record<string, ScopeTool>;
  close(): Promise<void>;
}

export interface ScopeTool {
  description: string;
  // biome-ignore lint/suspicious/noExplicitAny: the SDK's own type for tools of any input
  inputSchema: any;
  // biome-ignore lint/suspicious/noExplicitAny: see above
  execute(input: any, options?: { abortSignal?: AbortSignal | undefined }): Promise<string>;
}

export interface Retinue extends Delegating, AsyncDisposable {
  scope(options?: { label?: string; limits?: LimitsGiven; signal?: AbortSignal }): Scope;
  /** Everything else: ps, show, logs, find, wait. */
  api: Api;
  close(): Promise<void>;
}

export function createRetinue(options: RetinueOptions): Retinue {
  const { dialect = native } = options;
  const store = options.store ?? createMemoryStore();
  const notes = createMemoryNotes();
  const guard = createProcessGuard();
  const servers = serversOf(options.mcpServers ?? {});
  const catalog = createCatalog([...builtInAgents, ...(options.agents ?? []).map((agent) => ({ ...agent, source: 'library' }))]);
  const api = createApi({ store, clock: systemClock, ids: systemIds, catalog, dialect, runtime });
  const { approve } = options;
  if (approve) answerBy(api, async (question, signal) => answerOf(await approve(question, signal)));

  const taken = Object.keys(options.tools ?? {}).find((name) => capabilities.includes(name));
  if (taken !== undefined) throw new RetinueError('usage', `a tool cannot be called \`${taken}\`: in rules that is what a shell may reach`);

  async function runtime() {
    const own = await Promise.all(Object.entries(options.tools ?? {}).map(([name, tool]) => aiToolToTool(name, tool, compileSchema)));
    const { models, model } = libraryModels(options.model);
    const workspace = options.workspace ?? process.cwd();
    const shell = await shellGround(options.sandbox ?? 'auto', { workspace, db: null, env: process.env });
    const names = own.map((tool) => tool.name);
    const redact = createRedact(process.env, serverSecrets(allServers(servers, catalog.list())));
    const rules = (options.rules ?? []).map((rule) => ({ ...parseRule(rule), from: 'the program' }));
    return createRuntime({
      store,
      clock: systemClock,
      ids: systemIds,
      catalog,
      tools: [...builtInTools({ ...notes, clock: systemClock, bash: { ...shell, marks: guard.marks } }), ...own],
      dialect,
      executorNamed: createExecutors(guard),
      host: options.host,
      workspaces: workspaceReader,
      memories: notes.memories,
      callModel: createModelCaller(systemClock),
      compileSchema,
      redact,
      questions: approve && { attended: () => true, timeoutMs: options.approveMs },
      toolSource: createMcp({ servers, workspace, env: process.env, clock: systemClock, redact, marks: guard.marks }),
      models: withPrices(models, options.prices ?? {}),
      settings: {
        workspace,
        model,
        limits: options.limits ?? {},
        rulesets(delegationTools) {
          const builtIn = builtInRuleset(delegationTools, names, { sandboxed: shell.sandbox !== null });
          return [{ ...builtIn, rules: [...builtIn.rules, ...rules] }, ...shell.narrowing];
        },
      },
    });
  }

  return {
    api,
    ...delegating((brief, more) => api.start(brief, more), api),
    scope: (more = {}) => createScope(api, more),
    close: () => api.close(),
    [Symbol.asyncDispose]: () => api.close(),
  };
}

function answerOf(said: boolean | 'always' | { refused: string }): Answered {
  if (typeof said === 'object') return { allowed: false, reason: said.refused, by: 'the program' };
  return { allowed: said === true || said === 'always', always: said === 'always', by: 'the program' };
}

function serversOf(given: Record<string, McpServer>): Record<string, McpServer> {
  return Object.fromEntries(
    Object.entries(given).map(([name, server]) => {
      const checked = z.tuple([McpServerName, McpServer]).safeParse([name, server]);
      if (checked.success) return checked.data;
      const [issue] = checked.error.issues;
      throw new RetinueError('invalid_config', `mcpServers: ${[name, ...(issue?.path.slice(1) ?? [])].join('.')}: ${issue?.message}`);
    }),
  );
}

type Starter = (brief: unknown, options?: Parameters<Api['start']>[1]) => Promise<RunHandle>;

function delegating(start: Starter, api: Api): Delegating {
  async function delegate<T>(brief: BriefFor<T>): Promise<Run<T>> {
    const { form, check, typed } = resultOf<T>(brief.result);
    const run = await start({ ...brief, ...(form ? { result: form } : {}) }, check ? { check } : {});
    return {
      id: run.id,
      outcome: run.outcome.then(typed),
      events: (options) => api.events(run.id, options),
      send: (text, rules) => run.send(text, 'the program', rules),
      cancel: (reason) => run.cancel(reason),
    };
  }
  return {
    delegate,
    async all<T>(briefs: BriefFor<T>[], { concurrency = 8 }: { concurrency?: number } = {}) {
      const settled: PromiseSettledResult<OutcomeOf<T>>[] = [];
      const rest = briefs.entries();
      const work = async () => {
        for (const [i, brief] of rest)
          [settled[i]] = (await Promise.allSettled([delegate(brief).then((run) => run.outcome)])) as [PromiseSettledResult<OutcomeOf<T>>];
      };
      await Promise.all(Array.from({ length: Math.max(1, concurrency) }, work));
      return settled;
    },
  };
}

function createScope(api: Api, { signal, ...options }: { label?: string; limits?: LimitsGiven; signal?: AbortSignal }): Scope {
  let client: Promise<Client> | null = null;
  let closed = false;
  let calls = 0;
  const open = () => {
    if (closed || signal?.aborted) throw new RetinueError('parent_ended', 'this scope is closed: nothing more can be delegated through it');
    client ??= api.client(options);
    return client;
  };
  const close = async () => {
    closed = true;
    signal?.removeEventListener('abort', onAbort);
    if (client) await (await client).close();
  };
  const onAbort = () => void close().catch(() => {});
  signal?.addEventListener('abort', onAbort, { once: true });
  const context = { door: 'model' as const, agents: api.agents().map(({ name, description }) => ({ name, description })) };
  return {
    ...delegating(async (brief, more) => (await open()).delegate(brief, more), api),
    tools: () =>
      Object.fromEntries(
        api.dialect.tools.map((tool) => [
          tool.name,
          {
            description: tool.description(context),
            inputSchema: tool.input,
            execute: async (input, more) => {
              const { delegation, id } = await open();
              const use = { tool, input, context: { ...context, call: `${id}/${++calls}` }, signal: more?.abortSignal };
              return (await runDialectTool(use, delegation)).output;
            },
          },
        ]),
      ),
    close,
    [Symbol.asyncDispose]: close,
  };
}
