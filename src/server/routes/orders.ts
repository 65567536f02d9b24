// Routes that start and steer runs, and check records.
import { z } from 'zod';
import type { Api } from '../../api/api.ts';
import { RetinueError } from '../../contract/error.ts';
import {
  AnswerRequest,
  AnswerResponse,
  CancelRequest,
  CancelResponse,
  CompactResponse,
  EnqueueRequest,
  EnqueueResponse,
  FlowStartRequest,
  ForkRequest,
  MessageRequest,
  MessageResponse,
  PauseRequest,
  PauseResponse,
  QueuesResponse,
  ReplayResponse,
  ResumeResponse,
  StartRequest,
  StartResponse,
  VerifyResponse,
} from '../../contract/http.ts';
import { Question } from '../../contract/view.ts';
import { createCheckPool } from '../check-pool.ts';
import { HttpFailure } from '../errors.ts';
import type { ServerOptions } from '../options.ts';
import { type App, addRoute, type FindApi } from '../route.ts';

const defaultForkTask = 'Continue with the task from here.';

export function addOrderRoutes(app: App, findApi: FindApi, { setup }: Pick<ServerOptions, 'setup'>): void {
  const checks = createCheckPool();

  /** The brief of a request. Rejects with `invalid_brief` if it uses more of the machine than the workspace of the server. */
  async function checkRemote(given: unknown, what: string, workspace: string): Promise<object> {
    const brief = assertRemote(assertBrief(given, what)) as { model?: unknown; checks?: unknown };
    const reviewers: { model?: unknown }[] = Array.isArray(brief.checks) ? brief.checks : [];
    for (const model of [brief.model, ...reviewers.map((check) => check?.model)]) await assertOwnScript(model, workspace);
    return brief;
  }

  /** A script is a file, and errors say what is in it. */
  async function assertOwnScript(model: unknown, workspace: string): Promise<void> {
    if (typeof model !== 'string' || !model.trimStart().startsWith('script/') || model === (await setup(workspace)).model) return;
    throw new RetinueError('invalid_brief', 'model: over HTTP the only script is that of the server; leave it out');
  }

  addRoute(app, findApi, {
    ...{ method: 'post', path: '/api/runs', role: 'start', status: 201 },
    summary: 'Start a run from a brief',
    // Admission validates the brief, with messages that say what to do.
    ...{ body: z.unknown(), described: StartRequest, response: StartResponse },
    run: async ({ api, workspace, body, trace }) => ({
      runId: ignoreOutcome(await api.start(await checkRemote(body, 'the body', workspace), { trace })).id,
    }),
  });
  addRoute(app, findApi, {
    ...{ method: 'post', path: '/api/flows', role: 'start', status: 201 },
    summary: "Start a flow of the server's workspace, which is trusted there",
    ...{ body: FlowStartRequest, response: StartResponse },
    run: async ({ api, body, trace }) => ({ runId: ignoreOutcome(await api.namedFlow(body, { trace })).id }),
  });
  addRoute(app, findApi, {
    ...{ method: 'post', path: '/api/queue', role: 'start', status: 201 },
    summary: 'Leave a brief to a worker; needs a PostgreSQL database',
    ...{ body: EnqueueRequest.extend({ brief: z.unknown() }), described: EnqueueRequest, response: EnqueueResponse },
    run: async ({ api, workspace, body: { brief, queue, priority, group, startAfter }, trace }) => {
      const job = { queue, ...(priority !== undefined && { priority }), ...(group !== undefined && { group }) };
      return api.enqueue(await checkRemote(brief, '`brief`', workspace), {
        job: { ...job, ...(startAfter !== undefined && { startAfter }) },
        trace,
      });
    },
  });
  addRoute(app, findApi, {
    ...{ method: 'get', path: '/api/queue', role: 'read' },
    summary: 'Show the queues of a PostgreSQL database and their workers',
    response: QueuesResponse,
    run: ({ api }) => api.queues(),
  });
  addRoute(app, findApi, {
    ...{ method: 'post', path: '/api/runs/{id}/fork', role: 'start', status: 201 },
    summary: 'Start a new run from a recorded turn of another one',
    ...{ body: ForkRequest, response: StartResponse },
    run: async ({ api, workspace, id, body: { turn, task = defaultForkTask, model }, trace }) => {
      await assertOwnScript(model, workspace);
      return { runId: ignoreOutcome(await api.fork(id, { turn, task, ...(model === undefined ? {} : { model }) }, { trace })).id };
    },
  });
  addRoute(app, findApi, {
    ...{ method: 'post', path: '/api/runs/{id}/cancel', role: 'steer' },
    summary: 'Cancel a run and its descendants',
    ...{ body: CancelRequest, response: CancelResponse },
    run: async ({ api, id, body, principal }) => (await api.cancel([id], body.reason ?? `cancelled by ${principal.name}`))[0],
  });
  addRoute(app, findApi, {
    ...{ method: 'post', path: '/api/runs/{id}/message', role: 'steer' },
    summary: 'Send a message to a live run; an ended run gets a follow-up in a new run, which needs the role `start`',
    ...{ body: MessageRequest, response: MessageResponse },
    run: async ({ api, id, body: { text, rules }, principal, trace }) => {
      const runId = await api.find(id);
      const followUp = principal.role === 'start';
      const result = await api.message(runId, text, { followUp, trace, ...(rules === undefined ? {} : { rules }) });
      return result.kind === 'continued' ? { kind: 'continued', runId: ignoreOutcome(result.handle).id } : { kind: result.kind, runId };
    },
  });
  addRoute(app, findApi, {
    ...{ method: 'post', path: '/api/runs/{id}/compact', role: 'steer' },
    summary: 'Replace the conversation of a live run by a summary before its next turn',
    response: CompactResponse,
    run: ({ api, id }) => api.compact(id),
  });
  addRoute(app, findApi, {
    ...{ method: 'post', path: '/api/runs/{id}/pause', role: 'steer' },
    summary: 'Pause a run and its descendants; answers when nothing of them runs',
    ...{ body: PauseRequest, response: PauseResponse },
    run: async ({ api, id, body, principal }) => (await api.pause([id], body.reason ?? `paused by ${principal.name}`))[0],
  });
  addRoute(app, findApi, {
    ...{ method: 'post', path: '/api/runs/{id}/resume', role: 'steer' },
    summary: 'Continue a paused run, or an interrupted tree in the process of the server; a run of a queue goes to a worker',
    response: ResumeResponse,
    run: async ({ api, id }) => {
      const { runId, rootId, endedAt, driven, kind, queue } = await api.show(id);
      if (endedAt !== null) return { runId, result: 'already' };
      if (driven) return { runId, result: kind !== 'client' && (await api.release(runId)) ? 'released' : 'already' };
      if (queue !== undefined) {
        await api.release(runId);
        return { runId, result: 'released' };
      }
      for (const handle of await api.resume(rootId)) ignoreOutcome(handle);
      return { runId, result: 'resumed' };
    },
  });
  addRoute(app, findApi, {
    ...{ method: 'get', path: '/api/questions', role: 'read' },
    summary: 'Calls that wait for approval, oldest first',
    response: z.array(Question),
    run: ({ api }) => api.questions(),
  });
  addRoute(app, findApi, {
    ...{ method: 'post', path: '/api/questions/{id}', role: 'steer' },
    summary: 'Approve or refuse a call that waits for approval',
    ...{ body: AnswerRequest, response: AnswerResponse },
    run: async ({ api, id, body, principal }) => answerQuestion(api, id, { ...body, by: principal.name }),
  });
  addRoute(app, findApi, {
    ...{ method: 'post', path: '/api/runs/{id}/replay', role: 'read' },
    summary: 'Replay a run and its descendants from their logs, and compare',
    response: ReplayResponse,
    run: async ({ api, id, signal }) => {
      const runId = await api.find(id);
      return checks.run(api, `replay ${runId}`, (stop) => api.replay(runId, { signal: stop }), signal);
    },
  });
  addRoute(app, findApi, {
    ...{ method: 'post', path: '/api/runs/{id}/verify', role: 'read' },
    summary: 'Check that the log of a tree is complete and unchanged',
    response: VerifyResponse,
    run: async ({ api, id, signal }) => {
      const runId = await api.find(id);
      return checks.run(api, `verify ${runId}`, (stop) => api.verify(runId, { signal: stop }), signal);
    },
  });
  addRoute(app, findApi, {
    ...{ method: 'post', path: '/api/verify', role: 'read' },
    summary: 'Check that the logs of all trees are complete and unchanged',
    response: VerifyResponse,
    run: ({ api, signal }) => checks.run(api, 'verify', (stop) => api.verify(undefined, { signal: stop }), signal),
  });
}

/** A client of the server may use its workspace, and no other folder of its machine. */
function assertRemote(brief: object): object {
  type Files = { repository?: { path?: unknown; url?: unknown } | null; workspace?: unknown; fixture?: unknown };
  const { repository, workspace, fixture } = brief as Files;
  if (fixture !== undefined)
    throw new RetinueError('invalid_brief', 'fixture: over HTTP no folder of the server can be named; leave it out');
  if (workspace !== undefined)
    throw new RetinueError('invalid_brief', 'workspace: over HTTP it is the workspace of the server; leave it out');
  const isLocal = repository?.path !== undefined || /^file:/i.test(String(repository?.url ?? ''));
  if (isLocal) throw new RetinueError('invalid_brief', 'repository: over HTTP it must be an address, not a folder of the server');
  return brief;
}

function assertBrief(brief: unknown, what: string): object {
  if (typeof brief === 'object' && brief !== null && !Array.isArray(brief)) return brief;
  throw new RetinueError('invalid_brief', `${what} must be a brief: a JSON object with \`task\``);
}

/** Nothing here waits for the run; its outcome is in the log. */
function ignoreOutcome<T extends { outcome: Promise<unknown> }>(handle: T): T {
  handle.outcome.catch(() => {});
  return handle;
}

/** An approval must be for the call that was shown: by the id of the question, or by its hash. */
async function answerQuestion(
  api: Api,
  id: string,
  { hash, ...answer }: AnswerRequest & { by: string },
): Promise<z.input<typeof AnswerResponse>> {
  const question = await api.question(id);
  if (hash !== undefined && hash !== question.hash)
    throw new HttpFailure('conflict', 'the run asks about another call now; load the questions again');
  if (hash === undefined && answer.allowed && !id.includes('.'))
    throw new HttpFailure('bad_request', `name the question, not its run: /api/questions/${question.id}`);
  const { allowed, always, reason, by } = answer;
  const { result, denial } = await api.answer(question.id, {
    ...{ allowed, by },
    ...(always === undefined ? {} : { always }),
    ...(reason === undefined ? {} : { reason }),
  });
  return { id: question.id, result, ...(denial === undefined ? {} : { denial }) };
}
