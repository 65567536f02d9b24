// The part of `Api` that watches and steers, over HTTP. Commands and screens work with it as with the API of this process; what only the machine
// of the runs can do is refused.
import type { Api, Interrupted, Question } from '../api/api.ts';
import type { Agent } from '../contract/agent.ts';
import type { RunView, TreeSnapshot } from '../contract/view.ts';
import { sanitizeLine } from '../text/terminal.ts';
import type { Client } from './client.ts';
import { createConnectionWatch } from './connection.ts';
import { isRemoteError, RemoteError } from './error.ts';
import { createRemoteEvents } from './remote-events.ts';
import { createRemoteRuns } from './remote-runs.ts';

export interface RemoteApiOptions {
  /** The server's agents: `Api.agents` answers at once. */
  agents: Agent[];
}

export function createRemoteApi(client: Client, { agents }: RemoteApiOptions): Api {
  const connection = createConnectionWatch();
  const onConnection = connection.update;
  const closed = new AbortController();
  const runs = createRemoteRuns({ client, onConnection });
  /** Hashes of the calls that were shown, by the id of their question: an answer is for exactly that call. */
  const shown = new Map<string, Question>();
  const remember = (question: Question) => {
    shown.set(question.id, question);
    return question;
  };

  async function findQuestion(id: string): Promise<Question> {
    const [run = '', ...rest] = id.split('.');
    const { runId } = await client.run(run);
    const open = (await client.questions()).filter((question) => question.runId === runId);
    const matching = rest.length === 0 ? open : open.filter(({ turn, index }) => `${turn}.${index}` === rest.join('.'));
    if (matching.length === 1) return remember(matching[0] as Question);
    if (matching.length > 1) {
      const ids = matching.map((question) => question.id).join(', ');
      throw new RemoteError('usage', `run ${runId} has ${matching.length} open questions; name one of them: ${ids}`);
    }
    throw new RemoteError('unknown_run', `nothing waits for an answer under \`${id}\`; \`retinue approve\` lists open questions`);
  }

  async function findInterrupted(): Promise<Interrupted[]> {
    const live = await client.runs();
    const undriven = Map.groupBy(
      live.filter(({ driven }) => !driven),
      ({ rootId }) => rootId,
    );
    return Promise.all([...undriven].reverse().map(([rootId, open]) => describeInterrupted(rootId, open)));
  }

  async function describeInterrupted(rootId: string, open: RunView[]): Promise<Interrupted> {
    const [created] = await client.facts(rootId, { limit: 1 });
    const { kind, label, agent } = open.find(({ runId }) => runId === rootId) ?? (await client.run(rootId));
    const dialect = created?.type === 'run.created' && 'data' in created ? created.data.dialect : 'native';
    return { rootId, kind, label, agent, dialect, open: open.length };
  }

  return {
    server: { url: client.url, watchConnection: connection.watch },
    async start(brief, options) {
      if (options?.images?.length) throw localOnlyError('giving images to a run');
      return runs.follow((await client.start(brief as Parameters<Client['start']>[0], options?.trace)).runId);
    },
    flow: () => Promise.reject(localOnlyError('running a flow from a definition')),
    namedFlow: async (request, options) => runs.follow((await client.startFlow(request, options?.trace)).runId),
    enqueue: (brief, { job, trace }) => client.enqueue({ ...job, brief: brief as Parameters<Client['start']>[0] }, trace),
    queues: () => client.queues(),
    advise: async () => null,
    find: async (id) => (await client.run(id)).runId,
    ps: (options) => client.runs(options),
    trees: (query) => client.trees(query),
    tree: async (id) => sanitizeTree(await client.tree(id)),
    show: (id) => client.run(id),
    logs: (id, options) => client.facts(id, options),
    changes: (id) => client.diff(id),
    async patch(id) {
      const parts = (await client.diff(id)).map(({ diff }) => diff).filter((diff) => diff.startsWith('diff --git '));
      return parts.length === 0 ? null : new TextEncoder().encode(parts.join(''));
    },
    ...createRemoteEvents({ client, closed: closed.signal, onConnection }),
    position: () => client.position(),
    search: (text, options) => client.search(text, options),
    costs: () => client.costs(),
    async countEnded() {
      const ended = (await client.runs({ all: true })).filter(({ endedAt }) => endedAt !== null);
      return Object.fromEntries([...Map.groupBy(ended, ({ status }) => status)].map(([status, views]) => [status, views.length]));
    },
    interrupted: findInterrupted,
    async resume(rootId) {
      const { position } = await client.tree(rootId);
      await client.resume(rootId);
      return [runs.follow(rootId, position)];
    },
    pause: (ids, reason) => Promise.all(ids.map((id) => client.pause(id, { reason }))),
    release: async (id) => (await client.resume(id)).result === 'released',
    drain: async () => runs.leave(),
    cancel: (ids, reason) => Promise.all(ids.map((id) => client.cancel(id, { reason }))),
    async message(id, text, { rules = [], trace } = {}) {
      const { kind, runId } = await client.message(id, { text, ...(rules.length === 0 ? {} : { rules }) }, trace);
      return kind === 'continued' ? { kind, handle: runs.follow(runId) } : { kind };
    },
    compact: (id) => client.compact(id),
    questions: async () => (await client.questions()).map(remember),
    question: findQuestion,
    async answer(id, { allowed, always, reason }) {
      const question = shown.get(id) ?? (await findQuestion(id));
      const request = { allowed, hash: question.hash, ...(always ? { always } : {}), ...(reason ? { reason } : {}) };
      const { result, denial } = await client.answer(question.id, request).catch((error: unknown) => {
        if (isRemoteError(error) && error.code === 'unknown_run') return { result: 'late' as const, denial: undefined };
        throw error;
      });
      return { question, result, ...(denial === undefined ? {} : { denial }) };
    },
    fork: async (id, { turn, task, model }, { trace } = {}) =>
      runs.follow((await client.fork(id, { turn, task, ...(model === undefined ? {} : { model }) }, trace)).runId),
    replay: (id) => client.replay(id),
    verify: (id) => client.verify(id),
    agents: () => agents,
    watch: runs.watch,
    async close() {
      runs.leave();
      closed.abort();
    },
    apply: refuse('applying changes'),
    undo: refuse('taking back changes'),
    discard: refuse('discarding changes'),
    schedules: refuse('showing schedules'),
    putSchedule: refuse('adding a schedule'),
    removeSchedule: refuse('removing a schedule'),
    budgets: refuse('showing budgets'),
    setBudget: refuse('changing budgets'),
    removeBudget: refuse('changing budgets'),
    leftFolders: refuse('looking for left files'),
    interruptedPlans: refuse('looking for left files'),
    handBack: refuse('handing back a run'),
    findFileProblem: refuse('looking for the files of a run'),
    keyed: refuse('finding runs by their keys'),
    keyedRoots: refuse('finding runs by their keys'),
    export: refuse('exporting a run'),
    import: refuse('importing a run'),
    weigh: refuse('erasing runs'),
    erase: refuse('erasing runs'),
    endedBefore: refuse('erasing runs'),
    client: refuse('delegating as a client'),
    get dialect(): never {
      throw localOnlyError('offering delegation tools');
    },
  };
}

/** Screens print the texts of a snapshot as they are: in this process the fold of facts has cleaned them, but a server may not have. */
function sanitizeTree(tree: TreeSnapshot): TreeSnapshot {
  const clean = <T extends string | null>(text: T) => (text === null ? null : sanitizeLine(text)) as T;
  const runs = tree.runs.map((run) => ({
    ...run,
    ...{ name: clean(run.name), agent: clean(run.agent), model: clean(run.model), task: clean(run.task), activity: clean(run.activity) },
    tools: run.tools.map(({ call, text }) => ({ call: clean(call), text: clean(text) })),
    taint: run.taint.map(clean),
  }));
  return { ...tree, runs };
}

function refuse(what: string): () => Promise<never> {
  return async () => {
    throw localOnlyError(what);
  };
}

function localOnlyError(what: string): RemoteError {
  return new RemoteError('usage', `${what} works only on the machine of the runs; use it there, without --server`);
}
