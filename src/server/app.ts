// The HTTP application: checks every request, then finds its route. It knows no socket; `listen.ts` puts it on one.

import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { pageKeyName } from '../contract/page-key.ts';
import { authenticate, createAuthenticate, refuse, type ServerEnv } from './authenticate.ts';
import { checkOrigin } from './check-origin.ts';
import { answerError, HttpFailure } from './errors.ts';
import { createEventHub, type EventHub, type EventHubOptions } from './events.ts';
import { addHeaders, securityHeaders } from './headers.ts';
import { createMetrics } from './metrics.ts';
import type { ServerOptions } from './options.ts';
import { describeOtherPaths } from './other-paths.ts';
import { createRateLimit } from './rate-limit.ts';
import { type App, createIssueHook, type FindApi } from './route.ts';
import { addEventRoute } from './routes/events.ts';
import { addOrderRoutes } from './routes/orders.ts';
import { addRunRoutes } from './routes/runs.ts';
import { addSetupRoutes } from './routes/setup.ts';
import { createSessionCookie } from './session-cookie.ts';
import { createStatic } from './static.ts';
import { unknownRouteFailure } from './unknown-route.ts';

/** Wrong tokens from one address within a minute. Tokens cannot be guessed; this keeps the log and the machine quiet. */
const maxFailures = 60;

export interface ServerApp {
  app: App;
  events: EventHub;
  /** Called when the server stops accepting work: /readyz fails from then on. */
  leave(): void;
}

export interface AppOptions extends ServerOptions {
  /** The port that browsers use. */
  port: number | string;
  events?: EventHubOptions;
}

export function createServerApp(options: AppOptions): ServerApp {
  const { api, own, tokens, now, log } = options;
  const events = createEventHub(options.events);
  const metrics = createMetrics(api, events, options.version);
  const isSecure = own.scheme === 'https' || own.publicOrigin?.startsWith('https:') === true;
  const cookie = createSessionCookie({ port: options.port, isSecure });
  const authentication = { tokens, cookie, now, failures: createRateLimit({ max: maxFailures, windowMs: 60_000 }) };
  const serveStatic = createStatic(options.web);
  let isLeaving = false;
  const assertServing = () => {
    if (isLeaving) throw new HttpFailure('shutting_down', 'the server is shutting down; try again when it runs again');
  };
  const findApi: FindApi = async (workspace, { isEverywhere }) => {
    // The body of the request may have arrived after the server began to stop.
    assertServing();
    if (workspace === undefined || workspace === options.workspace) return { api, workspace: options.workspace };
    if (!isEverywhere)
      throw new HttpFailure(
        'forbidden',
        'this token is only for the workspace of the server; `retinue serve --everywhere` serves the others',
      );
    return { api: await options.workspaces.open(workspace), workspace };
  };

  const app: App = new OpenAPIHono<ServerEnv>({
    defaultHook: createIssueHook(),
  });
  app.onError((error, context) => answerError(context, error, log));
  app.use(addHeaders);
  app.use(async (context, next) => {
    const { incoming } = (context.env ?? {}) as Partial<HttpBindings>;
    context.set('remoteAddress', incoming?.socket.remoteAddress ?? '');
    checkOrigin({ host: context.req.header('host'), origin: context.req.header('origin') }, own);
    await next();
  });

  app.get('/healthz', (context) => context.text('ok\n'));
  app.get('/readyz', async (context) => {
    assertServing();
    await api.position();
    return context.text('ready\n');
  });
  app.get('/metrics', async (context) => {
    if (!options.publicMetrics) authenticate(context, authentication);
    return context.text(await metrics.read(), 200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' });
  });

  app.use('/api/*', async (_, next) => {
    assertServing();
    await next();
  });
  app.use('/api/*', createAuthenticate(authentication));
  app.use('/openapi.json', createAuthenticate(authentication));
  addRunRoutes(app, findApi, options);
  addOrderRoutes(app, findApi, options);
  addSetupRoutes(app, findApi, options);
  addEventRoute(app, findApi, events);
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer' });
  describeOtherPaths(app.openAPIRegistry, options);
  app.doc31('/openapi.json', { openapi: '3.1.0', info: { title: 'Retinue', version: options.version } });
  app.all('/api/*', ({ req }) => {
    throw unknownRouteFailure(app, req);
  });

  for (const mount of options.mounts ?? []) {
    const handle = async (context: Context<ServerEnv>) => {
      const { incoming, outgoing } = context.env as unknown as HttpBindings;
      for (const [name, value] of Object.entries(securityHeaders)) outgoing.setHeader(name, value);
      await mount.handle(incoming, outgoing, context.get('principal'));
      return RESPONSE_ALREADY_SENT;
    };
    for (const path of [mount.path, `${mount.path}/*`]) app.all(path, createAuthenticate(authentication, { mcpOnly: true }), handle);
  }

  app.get('/', async (context, next) => {
    const token = context.req.query('token');
    if (token === undefined) return next();
    const session = tokens.openSession(token, now());
    if (session === null)
      return refuse(
        authentication.failures.add(context.get('remoteAddress'), now()),
        'the link is not valid: copy it completely, or restart `retinue serve` for a new one',
      );
    cookie.write(context, session.cookie);
    // Browsers do not send the fragment to any server. The page keeps the key and removes it from the address.
    return context.redirect(`/#${pageKeyName}=${session.pageKey}`, 303);
  });
  app.get('*', serveStatic);
  app.notFound((context) => answerError(context, unknownRouteFailure(app, context.req), log));

  return {
    app,
    events,
    leave() {
      isLeaving = true;
    },
  };
}
