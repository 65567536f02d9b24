// The route of the event stream.

import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { z } from 'zod';
import { RetinueError } from '../../contract/error.ts';
import { assertRole, type ServerEnv } from '../authenticate.ts';
import { HttpFailure } from '../errors.ts';
import type { EventHub } from '../events.ts';
import type { App, FindApi } from '../route.ts';

const query = z.strictObject({
  tree: z.string().max(200).optional(),
  after: z.string().max(200).optional(),
  workspace: z.string().max(200).optional(),
});

const route = createRoute({
  method: 'get',
  path: '/api/events',
  operationId: 'getEvents',
  summary: 'Events of one tree (?tree=ID) or of all, as Server-Sent Events: fact, delta, reset',
  description:
    'The id of an event is its position. Last-Event-ID or ?after= continues after it. Without them a tree begins with its first fact; all trees begin now. `reset` means: load everything again, events after this one follow.',
  security: [{ token: [] }],
  'x-role': 'read',
  request: { query, headers: z.object({ 'Last-Event-ID': z.string().max(200).optional() }) },
  responses: { 200: { description: 'the stream', content: { 'text/event-stream': { schema: { type: 'string' } } } } },
});

export function addEventRoute(app: App, findApi: FindApi, events: EventHub): void {
  app.openapi(
    route as never,
    (async (context: Context<ServerEnv & { Bindings: HttpBindings }>) => {
      const principal = context.get('principal');
      assertRole(principal, 'read');
      const { tree, workspace, after } = context.req.valid('query' as never) as z.output<typeof query>;
      const { api } = await findApi(workspace, principal);
      const rootId = tree === undefined ? undefined : await findTree(api, tree);
      if (context.req.method === 'HEAD') return context.body(null, 200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
      if (!events.hasRoom(principal.id)) throw new HttpFailure('too_many_requests', 'too many event streams are open; close one first');
      const position = context.req.header('last-event-id') ?? after;
      void events.send(context.env.outgoing, { api, tree: rootId, after: position, principalId: principal.id });
      return RESPONSE_ALREADY_SENT;
    }) as never,
  );
}

/** Errors are answered before the stream begins. */
async function findTree(api: Awaited<ReturnType<FindApi>>['api'], id: string): Promise<string> {
  const { rootId, erasedAt } = await api.show(id);
  if (erasedAt !== undefined) throw new RetinueError('erased', `the content of run ${id} was erased, so it has no events`);
  return rootId;
}
