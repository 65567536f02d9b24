// Routes about what can run here: agents, models, memories, rules, workspaces.
import { z } from 'zod';
import {
  AgentJson,
  ListedModel,
  MemoryJson,
  PolicyRequest,
  PolicyVerdict,
  PositionResponse,
  ServerInfo,
  Workspace,
} from '../../contract/http.ts';
import { agentToJson } from '../../views/json.ts';
import type { ServerOptions } from '../options.ts';
import { type App, addRoute, type FindApi } from '../route.ts';

export function addSetupRoutes(app: App, findApi: FindApi, options: ServerOptions): void {
  const { version, setup, workspaces } = options;
  addRoute(app, findApi, {
    ...{ method: 'get', path: '/api/server', role: 'read' },
    summary: 'Version, the role of your token, and the workspace of the server',
    response: ServerInfo,
    run: async ({ principal: { role } }) => ({ version, role, workspace: options.workspace }),
  });
  addRoute(app, findApi, {
    ...{ method: 'get', path: '/api/position', role: 'read' },
    summary: 'The position of the newest event, for ?after= of /api/events',
    response: PositionResponse,
    run: async ({ api }) => ({ position: await api.position() }),
  });
  addRoute(app, findApi, {
    ...{ method: 'get', path: '/api/workspaces', role: 'read' },
    summary: 'Workspaces that your token may use, for ?workspace=',
    response: z.array(Workspace),
    run: ({ principal }) => workspaces.list({ others: principal.isEverywhere }),
  });
  addRoute(app, findApi, {
    ...{ method: 'get', path: '/api/agents', role: 'read' },
    summary: 'Agents that a brief can name',
    response: z.array(AgentJson),
    run: async ({ api }) => api.agents().map(agentToJson),
  });
  addRoute(app, findApi, {
    ...{ method: 'get', path: '/api/models', role: 'read' },
    summary: 'Models that this machine can use, with their prices',
    response: z.array(ListedModel),
    run: async ({ workspace }) => (await setup(workspace)).models(),
  });
  addRoute(app, findApi, {
    ...{ method: 'get', path: '/api/memories', role: 'read' },
    summary: 'Memories of the workspace, newest first',
    response: z.array(MemoryJson),
    run: async ({ workspace }) => (await (await setup(workspace)).memories()).map(({ title, text, at }) => ({ title, text, at })),
  });
  addRoute(app, findApi, {
    ...{ method: 'post', path: '/api/policy', role: 'read' },
    summary: 'Test whether a tool call would be allowed, and by which rule',
    ...{ body: PolicyRequest, response: PolicyVerdict },
    run: async ({ workspace, body: { call, agent = 'general' } }) => (await setup(workspace)).policy({ call, agent }),
  });
}
