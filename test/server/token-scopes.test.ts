// What a token is for besides its role: one workspace or all, everything or only MCP.
import { expect, it } from 'vitest';
import type { Mount } from '../../src/server/options.ts';
import { parseTokens } from '../../src/server/token-file.ts';
import { createTokenBook, type Principal } from '../../src/server/tokens.ts';
import { createTestServer, openPage, tokenOf } from './support.ts';

const value = (name: string) => name.padEnd(32, '0');
const workspace = (id: string) => ({ id, path: `/${id}`, db: `/${id}/db`, live: 0, questions: 0, usedAt: null });

it('a token opens only the workspace of the server, unless it is for all', async () => {
  const user = { role: 'start', name: 'the user' } as const;
  const tokens = createTokenBook([
    { value: value('own'), ...user, use: 'bearer' },
    { value: value('all'), ...user, isEverywhere: true },
  ]);
  const opened: string[] = [];
  await using server = await createTestServer({
    listen: {
      tokens,
      workspaces: {
        list: async ({ others }) => ['home', ...(others ? ['other'] : [])].map(workspace),
        open: async (id) => {
          opened.push(id);
          return server.api;
        },
      },
    },
  });
  const ask = async (path: string, token: string) => (await server.ask(path, { token: value(token) })).status;
  for (const path of ['/api/runs', '/api/models', '/api/runs/last', '/api/search?q=x']) {
    const other = `${path}${path.includes('?') ? '&' : '?'}workspace=other`;
    expect(await ask(other, 'own'), path).toBe(403);
  }
  expect(await ask('/api/events?workspace=other', 'own')).toBe(403);
  expect((await server.ask('/api/runs?workspace=other', { token: value('own'), body: { task: 'x' } })).status).toBe(403);
  expect(opened).toEqual([]);
  expect(await ask('/api/runs?workspace=home', 'own')).toBe(200);
  expect(await ask('/api/runs?workspace=other', 'all')).toBe(200);
  expect(opened).toEqual(['other']);
  const list = async (token: string) => (await server.ask('/api/workspaces', { token: value(token) })).json();
  expect(await list('own')).toMatchObject([{ id: 'home' }]);
  expect(await list('all')).toMatchObject([{ id: 'home' }, { id: 'other' }]);
  const page = await openPage(server, value('all'));
  expect((await server.ask('/api/runs?workspace=other', { token: null, headers: page })).status).toBe(200);
});

it('a token for MCP opens nothing else, and no session', async () => {
  const seen: Principal[] = [];
  const mount: Mount = {
    path: '/mcp',
    async handle(_, outgoing, principal) {
      seen.push(principal);
      outgoing.end('{}');
    },
    close: async () => {},
  };
  const tokens = createTokenBook(parseTokens(`${value('m')} mcp editor\n${tokenOf('start')} start\n`, 'tokens'));
  await using server = await createTestServer({ listen: { tokens, mounts: [mount] } });
  expect((await server.ask('/mcp', { token: value('m'), body: {} })).status).toBe(200);
  expect(seen).toMatchObject([{ name: 'editor', role: 'start', isMcpOnly: true }]);
  for (const path of ['/api/runs', '/api/server', '/api/events', '/openapi.json', '/metrics']) {
    const { status, text } = await server.ask(path, { token: value('m') });
    expect([status, text], path).toEqual([403, expect.stringContaining('only for MCP')]);
  }
  expect((await server.ask('/api/runs', { token: value('m'), body: { task: 'x' } })).status).toBe(403);
  expect((await server.ask(`/?token=${value('m')}`, { token: null })).status).toBe(401);
  expect((await server.ask('/mcp', { body: {} })).status).toBe(200);
});
