// The trees that the screen shows: snapshots, brought up to date by one event stream.
//
// 1. A fact that a snapshot has is not applied again: each loaded tree has the position of its snapshot.
// 2. A fact of a tree that is not loaded makes the stream wait until it is, so that no fact of it is missed.
// 3. Errors are reported and the stream is opened again; the screen keeps what it has.
import type { Question, RunView, StreamEvent } from '../../api/api.ts';
import type { Delta } from '../../contract/delta.ts';
import { isRetinueError } from '../../contract/error.ts';
import type { StoredFact } from '../../contract/fact.ts';
import { isLive } from '../../contract/run-status.ts';
import type { LiveRun } from '../../contract/view.ts';
import { isAfter } from '../../text/position.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { applyEvent, createLiveState, type LiveState } from '../../views/live-state.ts';
import type { ScreenApi, Timers } from './deps.ts';

/** The parts of the API that only the trees need. */
type SourceApi = Pick<ScreenApi, 'ps' | 'tree' | 'stream' | 'position' | 'questions'>;

export interface TreeSource {
  state: LiveState;
  /** Calls that wait for approval, of the shown trees. */
  questions: Question[];
  /** Roots of live trees that no living process drives. */
  undriven: Set<string>;
  /** Roots of trees that ended before the screen was opened. */
  earlier: Set<string>;
  /** Those of them of which only the root is known so far. */
  unloaded: Set<string>;
  isLoading: boolean;
  start(): void;
  /** Adds trees that ended before the screen was opened; nothing if it shows only one. */
  addEnded(): Promise<void>;
  /** Loads the rest of an ended tree. */
  loadTree(rootId: string): Promise<void>;
  /** Reads again which trees have a process and which calls wait. */
  refresh(): Promise<void>;
  close(): void;
}

export interface TreeSourceOptions {
  api: SourceApi;
  /** Only this tree; null: all live ones. */
  rootId: string | null;
  timers: Timers;
  /** Something that is shown may have changed. */
  onChange(): void;
  /** Each event once, after it was applied. */
  onEvent(event: StoredFact | Delta): void;
  onError(message: string): void;
}

const maxEndedTrees = 100;
/** A process that dies writes nothing, so this is looked up. */
const refreshMs = 5_000;
const retryMs = 1_000;

export function createTreeSource({ api, rootId, timers, onChange, onEvent, onError }: TreeSourceOptions): TreeSource {
  const positions = new Map<string, string>();
  const loading = new Map<string, Promise<void>>();
  const stop = new AbortController();
  let stopRefreshing = () => {};
  let questionsDue = false;
  let isReadingQuestions = false;

  const source: TreeSource = {
    state: createLiveState(),
    questions: [],
    undriven: new Set(),
    earlier: new Set(),
    unloaded: new Set(),
    isLoading: true,
    start: () => void followEvents(),
    addEnded,
    loadTree,
    refresh,
    close() {
      stop.abort();
      stopRefreshing();
    },
  };

  async function followEvents(): Promise<void> {
    while (!stop.signal.aborted) {
      try {
        const after = await loadAll();
        for await (const event of api.stream({ after, signal: stop.signal, ...(rootId === null ? {} : { tree: rootId }) })) {
          if (event.type === 'reset') break;
          await takeEvent(event);
        }
      } catch (error) {
        if (stop.signal.aborted) return;
        onError(errorText(error));
      }
      if (!stop.signal.aborted) await waitFor(retryMs);
    }
  }

  /** Returns the position from which events are needed. */
  async function loadAll(): Promise<string> {
    const start = await api.position();
    const roots = rootId === null ? new Set((await api.ps({ all: false })).map((run) => run.rootId)) : new Set([rootId]);
    const shown = [...source.state.roots].filter((id) => !source.unloaded.has(id) && !roots.has(id));
    for (const id of [...shown, ...[...roots].reverse()]) await loadSnapshot(id);
    source.isLoading = false;
    onChange();
    await refresh();
    return rootId === null ? start : (positions.get(rootId) ?? start);
  }

  async function takeEvent(event: Exclude<StreamEvent, { type: 'reset' }>): Promise<void> {
    if (event.type === 'delta') {
      if (applyEvent(source.state, event)) onChange();
      onEvent(event);
      return;
    }
    const root = await findRoot(event);
    const known = root === null ? undefined : positions.get(root);
    if (known === undefined || isAfter(event.position, known)) {
      if (applyEvent(source.state, event)) onChange();
    }
    onEvent(event);
    if (event.type === 'approval.asked' || event.type === 'approval.answered' || event.type === 'run.ended') readQuestions();
    if (event.type === 'run.resumed' || event.type === 'run.paused') void refresh();
    if (event.type === 'run.created') scheduleRefresh();
    if (event.type === 'run.ended' && rootId === null) dropOldTrees();
  }

  /** The root of the run's tree, loaded if it was not; null for a new tree. */
  async function findRoot(fact: StoredFact): Promise<string | null> {
    const parentId = fact.type === 'run.created' ? fact.data.parentId : null;
    if (fact.type === 'run.created' && parentId === null) return null;
    const known = rootOf(source.state, parentId ?? fact.runId);
    if (known !== null && !source.unloaded.has(known)) return known;
    await loadTree(fact.runId);
    return rootOf(source.state, fact.runId);
  }

  function loadTree(id: string): Promise<void> {
    const current = loading.get(id) ?? loadSnapshot(id).finally(() => loading.delete(id));
    loading.set(id, current);
    return current;
  }

  async function loadSnapshot(id: string): Promise<void> {
    try {
      const snapshot = await api.tree(id);
      const held = positions.get(snapshot.rootId);
      if (held !== undefined && isAfter(held, snapshot.position)) return;
      positions.set(snapshot.rootId, snapshot.position);
      source.unloaded.delete(snapshot.rootId);
      for (const run of snapshot.runs) source.state.runs.set(run.id, run);
      if (!source.state.roots.includes(snapshot.rootId)) source.state.roots.push(snapshot.rootId);
    } catch (error) {
      onError(errorText(error));
      // An erased tree has no runs to show; its events, if any, are of no use.
      if (isRetinueError(error) && rootId !== null) throw error;
    }
    onChange();
  }

  /** The screen may be open for days, so only the newest ended trees are kept. */
  function dropOldTrees(): void {
    const { state, earlier } = source;
    const ended = state.roots.filter((id) => !earlier.has(id) && !isLiveRoot(state, id));
    const old = new Set(ended.slice(0, Math.max(0, ended.length - maxEndedTrees)));
    if (old.size === 0) return;
    for (const id of old) {
      for (const each of listTree(state, id)) state.runs.delete(each);
      positions.delete(id);
    }
    state.roots = state.roots.filter((id) => !old.has(id));
  }

  async function addEnded(): Promise<void> {
    if (rootId !== null) return;
    try {
      for (const view of await api.ps({ all: true, roots: true, limit: maxEndedTrees })) {
        if (source.state.runs.has(view.runId) || view.endedAt === null) continue;
        source.state.runs.set(view.runId, viewToRun(view));
        source.state.roots.push(view.runId);
        source.unloaded.add(view.runId);
        source.earlier.add(view.runId);
      }
    } catch (error) {
      onError(errorText(error));
    }
    onChange();
  }

  async function refresh(): Promise<void> {
    try {
      const views = await api.ps({ all: false, roots: true });
      const undriven = new Set(views.filter((view) => !view.driven).map((view) => view.runId));
      const isChanged = [...undriven].sort().join() !== [...source.undriven].sort().join();
      source.undriven = undriven;
      if (isChanged) onChange();
    } catch (error) {
      if (!stop.signal.aborted) onError(errorText(error));
    }
    // Reading them costs a query per live run, and without an event there are no new ones: only known ones can expire.
    if (source.questions.length > 0 || source.state.runs.values().some(({ questions }) => questions > 0)) readQuestions();
    scheduleRefresh();
  }

  /** While anything is live. */
  function scheduleRefresh(): void {
    stopRefreshing();
    if (stop.signal.aborted || !source.state.roots.some((id) => isLiveRoot(source.state, id))) return;
    stopRefreshing = timers.after(refreshMs, () => void refresh());
  }

  /** One request at a time; a change meanwhile causes another one. */
  function readQuestions(): void {
    questionsDue = true;
    if (isReadingQuestions) return;
    isReadingQuestions = true;
    void (async () => {
      while (questionsDue && !stop.signal.aborted) {
        questionsDue = false;
        const open = (await api.questions()).filter((question) => rootId === null || question.rootId === rootId);
        const isChanged = open.map(({ id }) => id).join() !== source.questions.map(({ id }) => id).join();
        source.questions = open;
        if (isChanged) onChange();
      }
    })()
      .catch((error: unknown) => onError(errorText(error)))
      .finally(() => {
        isReadingQuestions = false;
      });
  }

  function waitFor(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = timers.after(ms, resolve);
      stop.signal.addEventListener('abort', () => {
        cancel();
        resolve();
      });
    });
  }

  return source;
}

export function errorText(error: unknown): string {
  return sanitizeLine(String((error as Error | null)?.message ?? error));
}

/** Null if the run is not known. */
export function rootOf(state: LiveState, runId: string): string | null {
  let run = state.runs.get(runId);
  if (!run) return null;
  while (run.parentId !== null) run = state.runs.get(run.parentId) as LiveRun;
  return run.id;
}

function listTree(state: LiveState, id: string): string[] {
  return [id, ...(state.runs.get(id) as LiveRun).children.flatMap((child) => listTree(state, child))];
}

function isLiveRoot(state: LiveState, id: string): boolean {
  return isLive((state.runs.get(id) as LiveRun).status);
}

/** What a list knows of an ended run. */
function viewToRun(view: RunView): LiveRun {
  return {
    ...{ id: view.runId, parentId: null, depth: 0, kind: view.kind, agent: view.agent, model: null },
    name: sanitizeLine(view.label ?? (view.task || null) ?? view.agent ?? view.kind),
    task: sanitizeLine(view.task ?? ''),
    status: view.status === 'interrupted' ? 'running' : view.status,
    ...{ turn: view.turns, maxTurns: null, activity: '', tools: [], questions: 0, children: [] },
    createdAt: Date.parse(view.startedAt ?? view.endedAt ?? '1970-01-01T00:00:00Z'),
    startedAt: view.startedAt === null ? null : Date.parse(view.startedAt),
    endedAt: view.endedAt === null ? null : Date.parse(view.endedAt),
    deadline: null,
    tokens: view.tokens.input + view.tokens.output,
    costUsd: view.costUsd,
    ...{ problems: { failed: 0, denied: 0 }, taint: [], resumesItself: false },
  };
}
