// A route as data: from it come validation, the check of the role, the OpenAPI document and the handler.
import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { z } from 'zod';
import type { Api } from '../api/api.ts';
import { HttpError, type Role } from '../contract/http.ts';
import type { TraceHeaders } from '../contract/trace-context.ts';
import { describeIssue } from '../text/describe-issue.ts';
import { stringifySafely } from '../text/terminal.ts';
import { assertRole, type ServerEnv } from './authenticate.ts';
import { HttpFailure } from './errors.ts';
import { readJson } from './read-json.ts';
import type { Principal } from './tokens.ts';

export type App = OpenAPIHono<ServerEnv>;

export interface RouteRequest<Query, Body> {
  api: Api;
  /** The id of the workspace. */
  workspace: string;
  /** The last parameter of the path; empty if it has none. */
  id: string;
  query: Query;
  body: Body;
  principal: Principal;
  /** The trace of the caller, for what the request starts. */
  trace: TraceHeaders;
  signal: AbortSignal;
}

export interface Route<Query extends z.ZodRawShape, Body extends z.ZodType> {
  method: 'get' | 'post';
  /** In OpenAPI's notation: `/api/runs/{id}`. */
  path: string;
  role: Role;
  summary: string;
  query?: Query;
  /** Absent for a POST: the body must be `{}` or empty. */
  body?: Body;
  /** The schema of the body in the document, if the handler validates it. */
  described?: z.ZodType;
  response: z.ZodType;
  status?: 200 | 201;
  run(request: RouteRequest<z.output<z.ZodObject<Query>>, z.output<Body>>): Promise<unknown>;
}

/** Finds the API that a request is for. Rejects with `usage` for an unknown workspace, and with `forbidden` for one that the principal may not use. */
export type FindApi = (workspace: string | undefined, principal: Principal) => Promise<{ api: Api; workspace: string }>;

/** A flag in a query: `?all=1`. */
export const queryFlag = z
  .enum(['0', '1', 'true', 'false'])
  .optional()
  .transform((value) => value === '1' || value === 'true')
  .openapi({ type: 'string', enum: ['0', '1'] });

const common = { workspace: z.string().max(200).optional().openapi({ description: 'a workspace of GET /api/workspaces' }) };

export function addRoute<Query extends z.ZodRawShape, Body extends z.ZodType>(app: App, findApi: FindApi, route: Route<Query, Body>): void {
  const { method, path, role, summary, status = 200 } = route;
  const querySchema = z.strictObject({ ...common, ...route.query });
  const bodySchema = route.body ?? z.strictObject({});
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
  const described = createRoute({
    ...{ method, path, summary, operationId: operationId(method, path) },
    security: [{ token: [] }],
    'x-role': role,
    request: {
      ...(names.length === 0 ? {} : { params: z.object(Object.fromEntries(names.map((name) => [name, z.string().max(200)]))) }),
      query: querySchema as never,
    },
    responses: {
      [status]: { description: 'the answer', content: { 'application/json': { schema: toJsonSchema(route.response, 'output') } } },
      default: { description: 'an error', content: { 'application/json': { schema: toJsonSchema(HttpError, 'output') } } },
    },
  });
  // The body is described but validated here: the messages of the API for a brief are better than those of a generic validator.
  if (method === 'post')
    Object.assign(described.request, {
      body: {
        required: route.body !== undefined,
        content: { 'application/json': { schema: toJsonSchema(route.described ?? bodySchema, 'input') } },
      },
    });

  const handle = async (context: Context<ServerEnv>) => {
    const principal = context.get('principal');
    assertRole(principal, role);
    const body = method === 'post' ? parseBody(bodySchema, await readJson(context)) : undefined;
    const { workspace: wanted, ...query } = context.req.valid('query' as never) as { workspace?: string };
    const { api, workspace } = await findApi(wanted, principal);
    const id = context.req.param(names.at(-1) ?? '') ?? '';
    const trace = { traceparent: context.req.header('traceparent'), tracestate: context.req.header('tracestate') };
    const { signal } = context.req.raw;
    const request = { api, workspace, id, query, body, principal, trace, signal };
    try {
      return answerJson(context, await route.run(request as never), status);
    } catch (error) {
      // Then it failed with whatever the adapter gives as the reason, and the client does not read the answer.
      if (signal.aborted) throw new HttpFailure('bad_request', 'the client has left');
      throw error;
    }
  };
  app.openapi(described as never, handle as never, createIssueHook(Object.keys(querySchema.shape)) as never);
}

/** Answers what is wrong with the query or path of a request. `known`: the parameters that the query may have. */
export function createIssueHook(known: readonly string[] = []) {
  return (result: { success: boolean; error?: z.ZodError; target: string; data?: unknown }): void => {
    if (result.error) throw new HttpFailure('bad_request', describeIssues(result.error, result.target, result.data, known));
  };
}

/** Hidden characters are escaped, as in the JSON of the command line. */
function answerJson(context: Context, value: unknown, status: 200 | 201 = 200): Response {
  return context.body(stringifySafely(value), status, { 'Content-Type': 'application/json; charset=utf-8' });
}

function parseBody<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new HttpFailure('bad_request', describeIssues(parsed.error, 'body', value, listKeys(schema)));
  return parsed.data;
}

/** `body.text: …; body.rules.0: …`. `known`: the keys that `value` may have. */
function describeIssues(error: z.core.$ZodError, where: string, value: unknown, known: readonly string[] = []): string {
  return error.issues
    .map((issue) => `${[where, ...issue.path].join('.')}: ${describeIssue(issue, value, issue.path.length === 0 ? known : [])}`)
    .join('; ');
}

function listKeys(schema: z.ZodType): string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

function operationId(method: string, path: string): string {
  const words = path.replace(/^\/api\//, '').split(/[^a-z]+/i);
  return [method, ...words]
    .filter((word) => word !== '')
    .map((word, i) => (i === 0 ? word : word[0]?.toUpperCase() + word.slice(1)))
    .join('');
}

export function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): object {
  const { $schema: _, ...described } = z.toJSONSchema(schema, { unrepresentable: 'any', io });
  return described;
}
