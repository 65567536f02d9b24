// The official client with the real program: tool list, calls, refusals, limits and the choice of the workspace.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { createTemporaryFolder, readTexts, startServer } from './support.ts';

type View = { runId: string; kind: string; label: string | null; status: string; depth: number };

describe('the list', () => {
  it('has the tools with schemas and annotations, and leaves nothing in the folder', async () => {
    await using server = await startServer();
    const { tools } = await server.client.listTools();
    expect(tools.map((tool) => tool.name)).toEqual([
      'delegate',
      'delegate_wait',
      'delegate_message',
      'delegate_read',
      'delegate_cancel',
      'delegate_apply',
    ]);
    const [delegate, wait] = tools;
    expect(delegate?.description).toMatch(/Agents:\n(.*\n)*- explore: /);
    expect(delegate?.inputSchema).toMatchObject({ type: 'object', required: ['tasks'], additionalProperties: false });
    expect(delegate?.inputSchema).not.toHaveProperty('$schema');
    expect(delegate?.annotations).toEqual({ readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true });
    expect(wait?.annotations).toEqual({ readOnlyHint: true, destructiveHint: false, idempotentHint: false, openWorldHint: false });
    expect(server.client.getServerVersion()).toMatchObject({ name: 'retinue', version: expect.stringMatching(/^\d+\.\d+\.\d+/) });
    expect(server.client.getInstructions()).toMatch(/Delegate independent work[\s\S]*- delegate: Delegates tasks to other agents/);
    expect(existsSync(join(server.place.folder, '.retinue'))).toBe(false);
  });

  it('is available without a model, and a call explains how to configure one', async () => {
    await using server = await startServer({ env: { RETINUE_MODEL: '', OLLAMA_HOST: '127.0.0.1:9', OPENAI_API_KEY: 'sk-not-shown-0000' } });
    expect((await server.client.listTools()).tools).toHaveLength(6);
    const result = await server.call('delegate', { tasks: [{ task: 'x' }] });
    expect(result.isError).toBe(true);
    expect(readTexts(result)[0]).toMatch(/no model is configured[\s\S]*OPENAI_API_KEY is set/);
    expect(readTexts(result)[0]).not.toContain('not-shown');
  });
});

describe('a call', () => {
  it('returns the outcome, from a client run with the client’s name that is created at the first delegation', async () => {
    await using server = await startServer();
    expect(readTexts(await server.call('delegate_wait', {}))).toEqual(['No delegated run is open.']);
    expect(JSON.parse((await server.place.run('ps', '--all', '--json')).out)).toEqual([]);
    const result = await server.call('delegate', { tasks: [{ task: 'look', label: 'first' }] });
    expect(result).toMatchObject({ content: [{ type: 'text' }] });
    expect(result.isError).toBeUndefined();
    const [text] = readTexts(result);
    expect(text).toMatch(/^\[run [0-9a-f]{16} · completed · 1 turn · .*"first"\]\nall is fine here$/);
    const all: View[] = JSON.parse((await server.place.run('ps', '--all', '--json')).out);
    expect(all.map(({ kind, label, status, depth }) => [kind, label, status, depth])).toEqual([
      ['agent', 'first', 'completed', 1],
      ['client', 'tester 1.2.3', 'running', 0],
    ]);
    expect(JSON.parse((await server.place.run('show', 'last', '--json')).out)).toMatchObject({ kind: 'agent', label: 'first' });
  });

  it('cannot name a file as a model: the refusal does not tell what is in it, or whether it exists', async () => {
    await using server = await startServer();
    writeFileSync(join(server.place.folder, 'keys.json'), '{"db_password_hunter2":1}');
    const refuse = async (model: string) => readTexts(await server.call('delegate', { tasks: [{ task: 'x', model }] })).join();
    const [existing, missing] = [await refuse('script/keys.json'), await refuse('script/none.json')];
    expect(existing).toContain('only the user chooses a script as a model');
    expect(missing).toBe(existing.replace('keys.json', 'none.json'));
  });

  it('removes control characters from the text of a child, and uses no fences', async () => {
    await using server = await startServer();
    const evil = 'a\u001b[31mred\u0007 \u202eback \u0000zero';
    writeFileSync(join(server.place.folder, 'script.json'), JSON.stringify({ runs: [{ steps: [{ text: evil }] }] }));
    const [text = ''] = readTexts(await server.call('delegate', { tasks: [{ task: 'x' }] }));
    expect(text.split('\n').slice(1)).toEqual(['a[31mred back zero']);
  });

  it('can read what an earlier connection delegated, by its id', async () => {
    await using first = await startServer();
    const [text = ''] = readTexts(await first.call('delegate', { tasks: [{ task: 'x' }] }));
    const id = /run ([0-9a-f]{16})/.exec(text)?.[1] as string;
    await first.client.close();
    await using second = await startServer({ place: first.place });
    expect(readTexts(await second.call('delegate_wait', { ids: [id] }))[0]).toContain('all is fine here');
  });
});

describe('a refusal', () => {
  it('is a result that names the parameter, the problem, and the nearest valid name', async () => {
    await using server = await startServer();
    const cases: [string, object, RegExp][] = [
      ['delegate', {}, /tasks: is missing; it has to be an array/],
      ['delegate', { task: 'x' }, /task: there is no such parameter; did you mean `tasks`\?/],
      ['delegate', { tasks: [{ task: 'x', agnet: 'explore' }] }, /tasks\[0\]\.agnet: there is no such parameter; did you mean `agent`\?/],
      ['delegate', { tasks: [{ task: 7 }] }, /tasks\[0\]\.task: .*expected string, received number/],
      ['delegate', { tasks: [{ task: 'x' }], wait_seconds: -1 }, /wait_seconds: /],
      ['delegate_read', { id: 'x', part: 'all' }, /part: /],
      ['delegate_cancel', { ids: 'x' }, /ids: .*expected array, received string/],
      ['delegate_wait', { ids: ['x', 'y'] }, /\[run x · refused\] unknown_run: ids: x is none of your delegated runs/],
      ['delegate_message', { id: 'x', text: 't' }, /unknown_run: id: x is none/],
      ['delegate_read', { id: 'x', part: 'log' }, /unknown_run: id: x is none/],
      ['delegate_cancel', { ids: ['x'] }, /unknown_run: ids: x is none/],
      ['delegate_apply', { ids: ['x'] }, /unknown_run: ids: x is none/],
      ['delegate_cancel', JSON.parse('{"ids": ["x"], "__proto__": {"a": 1}}'), /__proto__|unknown_run/],
    ];
    for (const [name, args, expected] of cases) {
      const result = await server.call(name, args);
      expect([result.isError, readTexts(result)[0]]).toEqual([true, expect.stringMatching(expected)]);
    }
    const unknown = await server.call('delegate', { tasks: [{ task: 'x', agent: 'nobody' }] });
    expect([unknown.isError, readTexts(unknown)[0]]).toEqual([true, expect.stringMatching(/unknown agent `nobody`/)]);
  });

  it('of an unknown tool is a protocol error', async () => {
    await using server = await startServer();
    await expect(server.call('delgate', {})).rejects.toThrow(/-32602.*unknown tool `delgate`; did you mean `delegate`\?/);
  });

  it('of wrong flags ends the program before it serves anything', async () => {
    using folder = createTemporaryFolder();
    const { createPlace } = await import('../cli/support-process.ts');
    using place = createPlace({ runs: [{ steps: [] }] });
    for (const [args, expected] of [
      [['--dialect', 'latin'], /unknown dialect `latin`/],
      [['--timeout', 'soon'], /--timeout/],
      [['--max-concurrent', '0'], /--max-concurrent/],
      [['-C', join(folder.folder, 'gone')], /unknown directory/],
      [['--yes'], /--yes is a flag of `retinue mcp install/],
      [['serve'], /unknown argument `serve`/],
    ] as const) {
      const { code, out, err } = await place.run('mcp', ...args);
      expect([code, out, err]).toEqual([2, '', expect.stringMatching(expected)]);
    }
  });
});

describe('limits', () => {
  it('of the command apply to every delegated run and to the whole connection', async () => {
    const flags = ['--max-turns', '3', '--timeout', '20s', '--budget-tokens', '900', '--max-concurrent', '2', '--max-depth', '0'];
    await using server = await startServer({ args: flags.slice(0, 8) });
    const [text = ''] = readTexts(await server.call('delegate', { tasks: [{ task: 'x' }] }));
    const id = /run ([0-9a-f]{16})/.exec(text)?.[1] as string;
    const child = JSON.parse((await server.place.run('show', id, '--json')).out);
    expect(child.grant.limits).toMatchObject({ maxTurns: { value: 3 }, timeoutMs: { value: 20_000 }, maxTokens: { value: 900 } });
    const root = JSON.parse((await server.place.run('show', child.parentId, '--json')).out);
    expect(root.grant.limits.maxConcurrent).toEqual({ from: 'command', value: 2 });
    await using shut = await startServer({ args: flags });
    const refused = await shut.call('delegate', { tasks: [{ task: 'x' }] });
    expect([refused.isError, readTexts(refused)[0]]).toEqual([true, expect.stringMatching(/depth/)]);
  });

  it('and rules of the command apply too', async () => {
    await using server = await startServer({ args: ['--deny', 'read'] });
    const steps = [{ calls: [{ tool: 'read', args: { path: 'script.json' } }] }, { text: 'done' }];
    writeFileSync(join(server.place.folder, 'script.json'), JSON.stringify({ runs: [{ steps }] }));
    const [text = ''] = readTexts(await server.call('delegate', { tasks: [{ task: 'x' }] }));
    const id = /run ([0-9a-f]{16})/.exec(text)?.[1] as string;
    const facts: { type: string; data: unknown }[] = JSON.parse((await server.place.run('logs', id, '--json')).out);
    expect(facts.find((fact) => fact.type === 'tool.asked')?.data).toMatchObject({ decision: { action: 'deny', rule: 'deny read' } });
  });
});

describe('the workspace', () => {
  function withRoots(roots: string[]): Client {
    const client = new Client({ name: 'tester', version: '1' }, { capabilities: { roots: { listChanged: true } } });
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: roots.map((uri) => ({ uri })) }));
    return client;
  }
  const script = JSON.stringify({ runs: [{ times: 'any', steps: [{ text: 'from the root' }] }] });

  it('is the first existing root of the client; other roots after a delegation change nothing', async () => {
    using root = createTemporaryFolder({ 'script.json': script });
    using other = createTemporaryFolder();
    const roots = ['https://example.com/x', pathToFileURL(join(root.folder, 'gone')).href, pathToFileURL(root.folder).href];
    const client = withRoots(roots);
    await using server = await startServer({ client });
    expect(readTexts(await server.call('delegate', { tasks: [{ task: 'x' }] }))[0]).toContain('from the root');
    expect([existsSync(join(root.folder, '.retinue')), existsSync(join(server.place.folder, '.retinue'))]).toEqual([true, false]);
    roots.splice(0, roots.length, pathToFileURL(other.folder).href);
    await client.sendRootsListChanged();
    expect(readTexts(await server.call('delegate', { tasks: [{ task: 'x' }] }))[0]).toContain('from the root');
    expect(server.stderr()).toContain('the roots of the client have changed');
    expect(existsSync(join(other.folder, '.retinue'))).toBe(false);
  });

  it('follows the client’s roots until something is delegated', async () => {
    using root = createTemporaryFolder({ 'script.json': script });
    using other = createTemporaryFolder();
    const roots = [pathToFileURL(other.folder).href];
    const client = withRoots(roots);
    await using server = await startServer({ client });
    await client.listTools();
    roots.splice(0, 1, pathToFileURL(root.folder).href);
    await client.sendRootsListChanged();
    expect(readTexts(await server.call('delegate', { tasks: [{ task: 'x' }] }))[0]).toContain('from the root');
  });

  it('is the folder given with -C, or the current folder if no root exists', async () => {
    using root = createTemporaryFolder({ 'script.json': script });
    await using given = await startServer({ client: withRoots([pathToFileURL('/').href]), args: ['-C', root.folder] });
    expect(readTexts(await given.call('delegate', { tasks: [{ task: 'x' }] }))[0]).toContain('from the root');
    await using none = await startServer({ client: withRoots(['file:///nowhere/at/all']) });
    expect(readTexts(await none.call('delegate', { tasks: [{ task: 'x' }] }))[0]).toContain('all is fine here');
    expect(none.stderr()).toContain('none of the client’s roots');
  });

  it('that cannot be opened is an error result, and the session continues', async () => {
    await using server = await startServer();
    writeFileSync(join(server.place.folder, 'retinue.config.json'), '{"modle": "x"}');
    expect((await server.client.listTools()).tools).toHaveLength(6);
    const result = await server.call('delegate', { tasks: [{ task: 'x' }] });
    expect([result.isError, readTexts(result)[0]]).toEqual([true, expect.stringMatching(/modle.*did you mean `model`/)]);
    writeFileSync(join(server.place.folder, 'retinue.config.json'), '{}');
    expect(readTexts(await server.call('delegate', { tasks: [{ task: 'x' }] }))[0]).toContain('all is fine here');
  });
});
