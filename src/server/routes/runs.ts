// Routes that read runs.
import { z } from 'zod';
import type { RunDetail, RunView } from '../../api/api.ts';
import { Artifact } from '../../contract/artifact.ts';
import type { ErasedFact, StoredFact } from '../../contract/fact.ts';
import { FactJson, FileChange, RunDetailJson } from '../../contract/http.ts';
import { Outcome } from '../../contract/outcome.ts';
import { CostRow, RunView as RunViewSchema, SearchHit, TreeList, TreeSnapshot, type TreeView } from '../../contract/view.ts';
import { artifactToJson, factToJson, outcomeToJson, runDetailToJson, runToJson } from '../../views/json.ts';
import type { ServerOptions } from '../options.ts';
import { type App, addRoute, type FindApi, queryFlag } from '../route.ts';

const maxListed = 10_000;
const limit = (max: number) => z.coerce.number('must be a whole number').int().min(1).max(max).optional();
/** Not so short that it would cut names, ids and hashes. */
const cutLength = z.coerce.number('must be a whole number').int().min(100).max(1_000_000).optional();
const cursor = z.string().max(200).optional();

export function addRunRoutes(app: App, findApi: FindApi, { findToolProcess }: Pick<ServerOptions, 'findToolProcess'>): void {
  addRoute(app, findApi, {
    ...{ method: 'get', path: '/api/runs', role: 'read' },
    summary: 'List runs, newest first: live ones, or all with ?all=1',
    query: { all: queryFlag, roots: queryFlag, limit: limit(maxListed), before: cursor },
    response: z.array(RunViewSchema),
    run: async ({ api, query: { all, roots, limit: count, before } }) => {
      const options = { all, roots, ...(count === undefined ? {} : { limit: count }) };
      const views = await api.ps({ ...options, ...(before === undefined ? {} : { before: await api.find(before) }) });
      return views.map(viewToJson);
    },
  });
  addRoute(app, findApi, {
    ...{ method: 'get', path: '/api/trees', role: 'read' },
    summary: 'List trees by their roots, newest first; ?before= takes `next` of the answer',
    query: {
      limit: limit(1_000),
      before: cursor,
      status: z
        .string()
        .max(200)
        .transform((value) => value.split(','))
        .pipe(z.array(RunViewSchema.shape.status))
        .optional(),
      agent: z.string().max(200).optional(),
      text: z.string().max(1_000).optional(),
    },
    response: TreeList,
    run: async ({ api, query: { limit: count = 50, before, ...filter } }) => {
      const { trees, next } = await api.trees({ limit: count, before: before && (await api.find(before)), ...filter });
      return { trees: trees.map(treeToJson), next };
    },
  });
  addRoute(app, findApi, {
    ...{ method: 'get', path: '/api/runs/{id}', role: 'read' },
    summary: 'Show a run: brief, grant, state, outcome, children',
    response: RunDetailJson,
    run: async ({ api, id }) => {
      const run = await api.show(id);
      const isOwnProcess = run.pid !== null && run.host === 'process';
      return detailToJson(run, isOwnProcess ? await findToolProcess(run.runId) : null);
    },
  });
  addRoute(app, findApi, {
    ...{ method: 'get', path: '/api/runs/{id}/facts', role: 'read' },
    summary: 'The log of a run; with ?tree=1 of its descendants too',
    query: { tree: queryFlag, after: cursor, limit: limit(1_000_000), cut: cutLength },
    response: z.array(FactJson),
    run: async ({ api, id, query: { tree, after, limit: count, cut } }) => {
      const page = { ...(after === undefined ? {} : { after }), ...(count === undefined ? {} : { limit: count }) };
      const facts = (await api.logs(id, { tree, ...page })).slice(0, count).map(storedFactToJson);
      return cut === undefined ? facts : (cutStrings(facts, cut) as object[]);
    },
  });
  addRoute(app, findApi, {
    ...{ method: 'get', path: '/api/runs/{id}/outcome', role: 'read' },
    summary: 'The outcome of a run; null while it is live',
    response: Outcome.nullable(),
    run: async ({ api, id }) => {
      const { outcome } = await api.show(id);
      return outcome && outcomeToJson(outcome);
    },
  });
  addRoute(app, findApi, {
    ...{ method: 'get', path: '/api/runs/{id}/artifacts', role: 'read' },
    summary: 'What a run has produced so far; with ?tree=1 its descendants too',
    query: { tree: queryFlag },
    response: z.array(Artifact.extend({ runId: z.string(), seq: z.int() })),
    run: async ({ api, id, query: { tree } }) =>
      (await api.logs(id, { tree })).flatMap((fact) =>
        'erased' in fact || fact.type !== 'artifact.recorded'
          ? []
          : [{ runId: fact.runId, seq: fact.seq, ...artifactToJson(fact.data.artifact) }],
      ),
  });
  addRoute(app, findApi, {
    ...{ method: 'get', path: '/api/runs/{id}/diff', role: 'read' },
    summary: 'What a run and its descendants changed in files, as the runtime saw it',
    response: z.array(FileChange),
    run: ({ api, id }) => api.changes(id),
  });
  addRoute(app, findApi, {
    ...{ method: 'get', path: '/api/runs/{id}/tree', role: 'read' },
    summary: 'All runs of the tree that a run belongs to, as they are now',
    response: TreeSnapshot,
    run: ({ api, id }) => api.tree(id),
  });
  addRoute(app, findApi, {
    ...{ method: 'get', path: '/api/search', role: 'read' },
    summary: 'Find a text in all runs, newest first',
    query: { q: z.string().max(1_000), limit: limit(1_000) },
    response: z.array(SearchHit),
    run: ({ api, query, signal }) => api.search(query.q, { limit: query.limit ?? 50, signal }),
  });
  addRoute(app, findApi, {
    ...{ method: 'get', path: '/api/costs', role: 'read' },
    summary: 'Tokens, money and time by day, agent and model',
    response: z.array(CostRow),
    run: ({ api }) => api.costs(),
  });
}

/** As `ps --json`, and what a client needs to show it as the command line does. */
function viewToJson(view: RunView): RunView {
  return { ...runToJson(view), task: view.task, driven: view.driven };
}

function treeToJson(tree: TreeView): TreeView {
  const { createdAt, model, runs, live } = tree;
  return { ...viewToJson(tree), createdAt, model, runs, live };
}

/** As `show --json`, and what a client needs to rebuild the detail. */
function detailToJson(run: RunDetail, toolPid: number | null): object {
  return {
    ...runDetailToJson(run, toolPid),
    task: run.task,
    driven: run.driven,
    host: run.host,
    children: run.children.map(viewToJson),
  };
}

function storedFactToJson(fact: StoredFact | ErasedFact): object {
  return { ...factToJson(fact), position: fact.position };
}

/** The value with long strings cut: a screen that shows only what happened and when does not need whole files and answers. */
function cutStrings(value: unknown, max: number): unknown {
  if (typeof value === 'string') return value.length <= max ? value : `${value.slice(0, max).toWellFormed()}…`;
  if (Array.isArray(value)) return value.map((each) => cutStrings(each, max));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, cutStrings(each, max)]));
}
