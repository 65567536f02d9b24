// Answers requests that no route takes: 404 for a path that does not exist, 405 for a method that the path does not have.
import type { HonoRequest } from 'hono';
import { HttpFailure } from './errors.ts';
import type { App } from './route.ts';

export function unknownRouteFailure(app: App, { method, path }: HonoRequest): HttpFailure {
  const methods = listMethods(app, path);
  if (methods.length === 0)
    return new HttpFailure(
      'not_found',
      `there is no ${method} ${path}${path.startsWith('/api') ? '; /openapi.json lists all routes' : ''}`,
    );
  const allow = methods.join(', ');
  return new HttpFailure('method_not_allowed', `${path} does not take ${method}; send ${methods.join(' or ')}`, allow);
}

/** Of the routes with exactly this path. Patterns such as `/api/*` are middleware and fallbacks. */
function listMethods(app: App, path: string): string[] {
  const methods = app.routes
    .filter((route) => route.method !== 'ALL' && !route.path.includes('*') && matches(route.path, path))
    .flatMap((route) => (route.method === 'GET' ? ['GET', 'HEAD'] : [route.method]));
  return [...new Set(methods)].sort();
}

function matches(pattern: string, path: string): boolean {
  const [wanted, given] = [pattern.split('/'), path.split('/')];
  return wanted.length === given.length && wanted.every((part, i) => (part.startsWith(':') ? given[i] !== '' : part === given[i]));
}
