// `retinue/client`: the HTTP API of `retinue serve` as typed calls, for programs, the dashboard and `--server`. It uses only `fetch`, so it
// runs in Node and in browsers. In a page of the server itself, the cookie and the key of the page identify the user; elsewhere, a token does.
import type { z } from 'zod';
import type { StreamEvent } from '../api/api.ts';
import type { Agent } from '../contract/agent.ts';
import type { Artifact } from '../contract/artifact.ts';
import type { ErasedFact, StoredFact } from '../contract/fact.ts';
import type * as Http from '../contract/http.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { TraceHeaders } from '../contract/trace-context.ts';
import type { CostRow, Question, RunDetail, RunView, SearchHit, TreeList, TreeQuery, TreeSnapshot } from '../contract/view.ts';
import type { Memory } from '../ports/notes.ts';
import type { ReplayResult } from '../records/replay.ts';
import type { VerifyResult } from '../records/verify.ts';
import { type EventStreamOptions, type ReconnectOptions, readEventStream } from './events.ts';
import { createRequester, type RequesterOptions } from './request.ts';

export interface ClientOptions extends Omit<RequesterOptions, 'url'> {
  /** The address that `retinue serve` prints, without the token. Default, in a browser: the server of the page. */
  url?: string | undefined;
  reconnect?: ReconnectOptions | undefined;
}

export interface ListOptions {
  /** Also runs that have ended. */
  all?: boolean;
  /** Only runs without a parent. */
  roots?: boolean;
  limit?: number;
  /** Only runs created before this one. */
  before?: string;
  signal?: AbortSignal;
}

interface Cancellable {
  signal?: AbortSignal | undefined;
}

/**
 * Ids may be shortened to a unique prefix; `last` is the newest run. Calls reject with a `RemoteError` that has the server's code and message,
 * or `unreachable` or `not_retinue`.
 */
export interface Client {
  /** The address of the server. */
  readonly url: string;
  server(options?: Cancellable): Promise<Http.ServerInfo>;
  workspaces(options?: Cancellable): Promise<Http.Workspace[]>;
  /** Newest first. */
  runs(options?: ListOptions): Promise<RunView[]>;
  /** Trees by their roots, newest first. `before: next` of an answer continues it. */
  trees(query?: Partial<TreeQuery> & Cancellable): Promise<TreeList>;
  run(id: string, options?: Cancellable): Promise<RunDetail>;
  /** All runs of the tree that a run belongs to, with the position that events continue from. */
  tree(id: string, options?: Cancellable): Promise<TreeSnapshot>;
  /** `tree`: with all descendants. `after`: only facts after this position. `cut`: cuts texts to so many characters (default: whole texts). */
  facts(
    id: string,
    options?: { tree?: boolean; after?: string; limit?: number; cut?: number } & Cancellable,
  ): Promise<(StoredFact | ErasedFact)[]>;
  /** Null while the run is live. */
  outcome(id: string, options?: Cancellable): Promise<Outcome | null>;
  /** `tree`: also those of its descendants. */
  artifacts(id: string, options?: { tree?: boolean } & Cancellable): Promise<(Artifact & { runId: string; seq: number })[]>;
  /** What the file tools of a run and its descendants changed. */
  diff(id: string, options?: Cancellable): Promise<Http.FileChange[]>;
  search(text: string, options?: { limit?: number } & Cancellable): Promise<SearchHit[]>;
  costs(options?: Cancellable): Promise<CostRow[]>;
  questions(options?: Cancellable): Promise<Question[]>;
  agents(options?: Cancellable): Promise<Agent[]>;
  models(options?: Cancellable): Promise<Http.ListedModel[]>;
  memories(options?: Cancellable): Promise<Memory[]>;
  /** The position of the newest fact. */
  position(options?: Cancellable): Promise<string>;

  /** Starts a run on the server. Files of the brief are paths in the server's workspace. `trace`: the trace of the caller (W3C Trace Context). */
  start(brief: z.input<typeof Http.StartRequest>, trace?: TraceHeaders): Promise<z.infer<typeof Http.StartResponse>>;
  /** Starts a flow of the server's workspace, by its name. */
  startFlow(request: z.input<typeof Http.FlowStartRequest>, trace?: TraceHeaders): Promise<z.infer<typeof Http.StartResponse>>;
  /** Leaves a brief to a worker. Needs a PostgreSQL database. */
  enqueue(request: z.input<typeof Http.EnqueueRequest>, trace?: TraceHeaders): Promise<z.infer<typeof Http.EnqueueResponse>>;
  /** The queues of the database and their workers. */
  queues(options?: Cancellable): Promise<z.infer<typeof Http.QueuesResponse>>;
  cancel(id: string, request?: z.input<typeof Http.CancelRequest>): Promise<z.infer<typeof Http.CancelResponse>>;
  /** A live run reads the message before its next turn; an ended run answers in a new one, which belongs to the trace. */
  message(id: string, request: z.input<typeof Http.MessageRequest>, trace?: TraceHeaders): Promise<z.infer<typeof Http.MessageResponse>>;
  /** Compacts the conversation of a live run before its next turn. */
  compact(id: string): Promise<z.infer<typeof Http.CompactResponse>>;
  /** Resolves when nothing of the run is running. */
  pause(id: string, request?: z.input<typeof Http.PauseRequest> & Cancellable): Promise<z.infer<typeof Http.PauseResponse>>;
  /** Ends a pause, or continues an interrupted tree on the server. */
  resume(id: string): Promise<z.infer<typeof Http.ResumeResponse>>;
  fork(id: string, request: z.input<typeof Http.ForkRequest>, trace?: TraceHeaders): Promise<z.infer<typeof Http.StartResponse>>;
  replay(id: string): Promise<ReplayResult[]>;
  /** Verifies the tree of a run, or all trees. */
  verify(id?: string): Promise<VerifyResult>;
  /** `hash`: the call that you looked at; an answer for another one is refused. */
  answer(questionId: string, request: z.input<typeof Http.AnswerRequest>): Promise<z.infer<typeof Http.AnswerResponse>>;
  /** How the server would decide a call. */
  policy(request: z.input<typeof Http.PolicyRequest>): Promise<Http.PolicyVerdict>;

  /**
   * Facts as any process records them, each exactly once and in order, and text while it streams. Reconnects without your help. `reset`: load
   * what you show again; facts after its position follow. Ends when the signal fires, or when you leave the loop.
   */
  events(options?: EventStreamOptions): AsyncGenerator<StreamEvent>;
}

/**
 * Throws `usage` for an address that cannot be used. Makes no request. Without a token, in a page of the server, it takes the key of the page from the
 * address and keeps it in the storage of the origin.
 */
export function createClient(options: ClientOptions = {}): Client {
  const { url = '/', reconnect = {}, ...more } = options;
  const request = createRequester({ url, ...more });
  const { get, post } = request;
  const runPath = (id: string, rest = '') => `api/runs/${encodeURIComponent(id)}${rest}`;

  const client: Client = {
    url: request.url,
    server: (given) => get('api/server', given),
    workspaces: (given) => get('api/workspaces', given),
    runs: ({ all, roots, limit, before, signal } = {}) =>
      get('api/runs', { query: { all: all ? 1 : undefined, roots: roots ? 1 : undefined, limit, before }, signal }),
    trees: ({ limit, before, status, agent, text, signal } = {}) =>
      get('api/trees', { query: { limit, before, status: status?.join(','), agent, text }, signal }),
    // The JSON of the command line omits a process that does not exist.
    run: async (id, given) => {
      const detail = await get<Omit<RunDetail, 'pid'> & { pid?: number }>(runPath(id), given);
      return { ...detail, pid: detail.pid ?? null };
    },
    tree: (id, given) => get(runPath(id, '/tree'), given),
    facts: (id, { tree, after, limit, cut, signal } = {}) =>
      get(runPath(id, '/facts'), { query: { tree: tree ? 1 : undefined, after, limit, cut }, signal }),
    outcome: (id, given) => get(runPath(id, '/outcome'), given),
    artifacts: (id, { tree, signal } = {}) => get(runPath(id, '/artifacts'), { query: { tree: tree ? 1 : undefined }, signal }),
    diff: (id, given) => get(runPath(id, '/diff'), given),
    search: (text, { limit, signal } = {}) => get('api/search', { query: { q: text, limit }, signal }),
    costs: (given) => get('api/costs', given),
    questions: (given) => get('api/questions', given),
    agents: (given) => get('api/agents', given),
    models: (given) => get('api/models', given),
    memories: (given) => get('api/memories', given),
    position: async (given) => (await get<{ position: string }>('api/position', given)).position,

    start: (brief, trace) => post('api/runs', { body: brief, headers: toHeaders(trace) }),
    startFlow: (body, trace) => post('api/flows', { body, headers: toHeaders(trace) }),
    enqueue: (body, trace) => post('api/queue', { body, headers: toHeaders(trace) }),
    queues: (given) => get('api/queue', given),
    cancel: (id, body = {}) => post(runPath(id, '/cancel'), { body }),
    message: (id, body, trace) => post(runPath(id, '/message'), { body, headers: toHeaders(trace) }),
    compact: (id) => post(runPath(id, '/compact')),
    pause: (id, { signal, ...body } = {}) => post(runPath(id, '/pause'), { body, signal }),
    resume: (id) => post(runPath(id, '/resume')),
    fork: (id, body, trace) => post(runPath(id, '/fork'), { body, headers: toHeaders(trace) }),
    replay: (id) => post(runPath(id, '/replay')),
    verify: (id) => post(id === undefined ? 'api/verify' : runPath(id, '/verify')),
    answer: (id, body) => post(`api/questions/${encodeURIComponent(id)}`, { body }),
    policy: (body) => post('api/policy', { body }),
    events: (given = {}) => readEventStream(given, { request, reconnect, position: (signal) => client.position({ signal }) }),
  };
  return client;
}

/** What cannot be a header is left out; the server checks the rest. */
function toHeaders({ traceparent, tracestate }: TraceHeaders = {}): Record<string, string> {
  const given = Object.entries({ traceparent, tracestate });
  return Object.fromEntries(given.filter((entry): entry is [string, string] => /^[\x20-\x7e]+$/.test(String(entry[1] ?? ''))));
}
