// Paths of the OpenAPI document that are no routes of the API: health checks, metrics and mounts such as MCP.
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { ServerOptions } from './options.ts';

type Registry = OpenAPIHono['openAPIRegistry'];

export function describeOtherPaths(
  registry: Registry,
  { mounts = [], publicMetrics }: Pick<ServerOptions, 'mounts' | 'publicMetrics'>,
): void {
  const text = (description: string) => ({ description, content: { 'text/plain': { schema: { type: 'string' as const } } } });
  const security = [{ token: [] }];
  registry.registerPath({
    ...{ method: 'get', path: '/healthz', operationId: 'getHealth', summary: 'Whether the process lives; needs no token', security: [] },
    responses: { 200: text('it does') },
  });
  registry.registerPath({
    ...{ method: 'get', path: '/readyz', operationId: 'getReadiness', security: [] },
    summary: 'Whether the database can be read and the server is not stopping; needs no token',
    responses: { 200: text('it is ready'), 503: { description: 'the server is stopping' } },
  });
  registry.registerPath({
    ...{ method: 'get', path: '/metrics', operationId: 'getMetrics', security: publicMetrics ? [] : security },
    summary: 'Figures of runs and of the server, for Prometheus',
    responses: { 200: text('text format, version 0.0.4') },
  });
  for (const { path, summary } of mounts) if (summary !== undefined) describeMount(registry, path, summary);
}

function describeMount(registry: Registry, path: string, summary: string): void {
  const name = path.replace(/\W/g, '');
  const answers = { 200: { description: 'an answer or a stream of the protocol' } };
  const common = { path, summary, security: [{ token: [] }], responses: answers };
  const body = { content: { 'application/json': { schema: { type: 'object' as const } } } };
  registry.registerPath({ ...common, method: 'post', operationId: `post_${name}`, request: { body } });
  registry.registerPath({ ...common, method: 'get', operationId: `get_${name}` });
  registry.registerPath({ ...common, method: 'delete', operationId: `delete_${name}` });
}
