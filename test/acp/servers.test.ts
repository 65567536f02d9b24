// MCP servers that the editor passes: they count as the user's, below Retinue's rules.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as acp from '@agentclientprotocol/sdk';
import { describe, expect, it } from 'vitest';
import { parseClientServers } from '../../src/acp/client-servers.ts';
import { resolveTarget } from '../../src/tools/mcp/resolve-target.ts';
import { serveHttp } from '../support/mcp-http.ts';
import { createSetup, findProcesses, startEditor, toolCalls } from './support.ts';

/** A reference to a variable, as configured servers use it. */
const reference = (name: string) => ['$', '{', name, '}'].join('');
const literal = `${reference('HOME')} stays as it is`;
const program = join(import.meta.dirname, '../support/mcp-server.ts');
const local = (name: string, mark: string) => ({
  name,
  command: process.execPath,
  args: [program, 'plain', mark],
  env: [{ name: 'GIVEN', value: literal }],
});
const call = (tool: string, args: object = {}) => ({ calls: [{ tool, args }] });

describe('a server of the editor', () => {
  it('gives its tools to the session, gets its variables as they are, and ends with it', async () => {
    const mark = `acp-server-${process.pid}`;
    await using web = await serveHttp();
    await using setup = await createSetup([
      call('mcp__my-tools__echo', { text: 'hello there' }),
      call('mcp__my-tools__env'),
      call('mcp__remote__echo', { text: 'over http' }),
      { text: 'Done.' },
    ]);
    {
      await using editor = await startEditor(setup);
      const { sessionId } = await editor.newSession({
        mcpServers: [
          local('My Tools!', mark),
          { type: 'http', name: 'remote', url: web.url, headers: [{ name: 'X-Given', value: 'by the editor' }] },
        ],
      });
      await editor.prompt(sessionId, 'Use them');
      const shown = toolCalls(editor.updates);
      expect(shown.map(({ name, status }) => [name, status])).toEqual([
        ['mcp__my-tools__echo', 'completed'],
        ['mcp__my-tools__env', 'completed'],
        ['mcp__remote__echo', 'completed'],
      ]);
      const texts = shown.map(({ content }) => JSON.stringify(content));
      expect(texts[0]).toContain('hello there');
      expect(texts[1]).toContain(literal);
      expect(texts[1]).not.toContain('ANTHROPIC_API_KEY');
      expect(texts[2]).toContain('over http');
      expect(web.requests[0]?.headers['x-given']).toBe('by the editor');
    }
    expect(findProcesses(mark)).toEqual([]);
  });

  it('is subject to the rules, and is only for its session', async () => {
    await using setup = await createSetup([call('mcp__tools__echo', { text: 'hello' }), { text: 'No.' }, { text: 'None.' }]);
    await using editor = await startEditor(setup, { args: ['--deny', 'mcp__tools__echo'] });
    const { sessionId } = await editor.newSession({ mcpServers: [local('tools', 'plain')] });
    await editor.prompt(sessionId, 'Use it');
    expect(toolCalls(editor.updates)).toMatchObject([{ name: 'mcp__tools__echo', status: 'failed' }]);
    const other = await editor.newSession();
    await editor.prompt(other.sessionId, 'What do you have?');
    const tools = setup.provider.requests.map(({ body }) => JSON.stringify(body.tools));
    expect([tools[0]?.includes('mcp__tools__'), tools.at(-1)?.includes('mcp__')]).toEqual([true, false]);
  });

  it('that cannot be started is left out, and the user is told', async () => {
    await using setup = await createSetup([{ text: 'Without it.' }]);
    await using editor = await startEditor(setup, { capabilities: { session: { notices: {} } } });
    const { sessionId } = await editor.newSession({ mcpServers: [{ ...local('broken', ''), command: '/does/not/exist' }] });
    expect(await editor.prompt(sessionId, 'Hi')).toMatchObject({ stopReason: 'end_turn' });
    expect(await editor.until(({ sessionUpdate }) => sessionUpdate === 'notice')).toMatchObject({
      severity: 'warning',
      title: expect.stringContaining('MCP server broken cannot be used'),
    });
  });

  it.runIf(process.platform === 'linux')('that does not answer delays neither a cancel nor the end of the process', async () => {
    const mark = `acp-mute-${process.pid}`;
    await using setup = await createSetup([{ text: 'Never asked.' }]);
    const editor = await startEditor(setup);
    const mute = { ...local('mute', mark), args: [program, 'mute', mark] };
    const { sessionId } = await editor.newSession({ mcpServers: [mute] });
    const first = editor.prompt(sessionId, 'One');
    while (findProcesses(mark).length === 0) await sleep(10);
    await editor.agent.notify(acp.methods.agent.session.cancel, { sessionId });
    expect(await first).toMatchObject({ stopReason: 'cancelled' });
    void editor.prompt(sessionId, 'Two').catch(() => {});
    editor.child.stdin.end();
    // The exit code would be 1 if it took longer than 5 s.
    expect(await editor.exited).toBe(0);
    expect(findProcesses(mark)).toEqual([]);
    expect(setup.provider.requests).toEqual([]);
  });

  it('with an impossible definition is refused by name', async () => {
    await using setup = await createSetup([]);
    await using editor = await startEditor(setup);
    const bad = { type: 'http' as const, name: 'bad', url: 'file:///etc/passwd', headers: [] };
    await expect(editor.newSession({ mcpServers: [bad] })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('the MCP server "bad" cannot be used (url)'),
    });
  });
});

describe('the name of a server', () => {
  it('fits into names of tools, and differs from configured ones', () => {
    const named = (...names: string[]) =>
      Object.keys(
        parseClientServers(
          names.map((name) => ({ name, command: 'x', args: [], env: [] })),
          ['github'],
        ),
      );
    expect(named('GitHub', 'github', 'a__b', 'Ünï çødé', '', '-x-', 'y'.repeat(99))).toEqual([
      'github-2',
      'github-3',
      'a-b',
      'n-d',
      'server',
      'x',
      'y'.repeat(32),
    ]);
  });

  it('leaves every text of a definition as it is', () => {
    const texts = [reference('HOME'), `$${reference('A:-b')}`, '${', '$', '{}', '${A', `a${reference('B')}c${reference('D')}`];
    const { x } = parseClientServers(
      [{ name: 'x', command: '/x', args: texts, env: texts.map((value, i) => ({ name: `V${i}`, value })) }],
      [],
    );
    const target = resolveTarget(x as object, { env: { HOME: '/', A: 'a', B: 'b', D: 'd' }, workspace: '/' });
    expect(target).toMatchObject({ args: texts, env: Object.fromEntries(texts.map((value, i) => [`V${i}`, value])) });
  });
});
