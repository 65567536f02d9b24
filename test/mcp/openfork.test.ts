// OpenFork over MCP: the real program, the official client, subagents in the foreground and the background.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readTexts, waitForExit } from './support.ts';
import {
  findTool,
  getFirstMessage,
  getSystemPrompt,
  getToolNames,
  isAlive,
  listDescendants,
  readChildren,
  readOnlyText,
  startDialectServer,
} from './support-dialect.ts';

const ask = (prompt: string, more: object = {}) => ({ subagent_type: 'general', prompt, description: `to ${prompt}`, ...more });
const idIn = (text: string) => /^- ID: ([0-9a-f]{16})$/m.exec(text)?.[1] as string;

describe('the tools', () => {
  it('match the source: names, description, parameters, defaults', async () => {
    await using server = await startDialectServer('openfork');
    expect((await server.client.listTools()).tools.map(({ name }) => name)).toEqual(['task', 'task_status', 'task_cancel']);
    const task = await findTool(server.client, 'task');
    expect(task.description).toMatch(/^Launch a specialized subagent to handle a specific task\.\nThe subagent runs in its own session/);
    expect(task.description).toMatch(/IMPORTANT: Subagents cannot spawn their own subagents\.$/);
    expect(task.inputSchema.required).toEqual(['subagent_type', 'prompt', 'description']);
    expect(Object.keys(task.inputSchema.properties)).toEqual(['subagent_type', 'prompt', 'description', 'run_in_background', 'max_turns']);
    expect(task.inputSchema.properties).toMatchObject({
      subagent_type: { description: 'Type of subagent to spawn', enum: ['general', 'explore', 'planner', 'researcher'] },
      prompt: { description: 'Detailed task description for the subagent' },
      description: { description: 'Short description (3-5 words) for display' },
      run_in_background: { type: 'boolean', default: false, description: 'Run asynchronously without blocking' },
      max_turns: { type: 'integer', minimum: 1, description: expect.stringContaining('larger values become 50') },
    });
    const status = await findTool(server.client, 'task_status');
    expect([Object.keys(status.inputSchema.properties), status.inputSchema.required]).toEqual([['id', 'wait'], ['id']]);
    expect(status.inputSchema.properties.wait?.default).toBe(false);
    expect(Object.keys((await findTool(server.client, 'task_cancel')).inputSchema.properties)).toEqual(['id']);
  });

  it('refuse wrong parameters by name', async () => {
    await using server = await startDialectServer('openfork');
    const wrong: [tool: string, args: object, said: RegExp][] = [
      ['task', { prompt: 'x', description: 'y' }, /subagent_type/],
      ['task', ask('x', { subagent_type: 'wizard' }), /subagent_type/],
      ['task', ask(' '), /^Subagent failed: prompt: /],
      ['task', ask('x', { description: ' ' }), /^Subagent failed: description: /],
      ['task', ask('x', { max_turns: 0 }), /^Subagent failed: max_turns: must be at least 1$/],
      ['task', ask('x', { run_in_background: 'yes' }), /run_in_background/],
      ['task', ask('x', { model: 'y' }), /model/],
      ['task_status', {}, /id/],
      ['task_status', { id: '0123456789abcdef' }, /^Subagent not found: id: 0123456789abcdef/],
      ['task_cancel', { id: '0123456789abcdef' }, /^Subagent not found: id: 0123456789abcdef/],
      ['task_status', { id: '' }, /^Subagent not found: id: an empty id/],
    ];
    for (const [tool, args, said] of wrong) {
      const result = await server.call(tool, args);
      expect([result.isError, readOnlyText(result)]).toEqual([true, expect.stringMatching(said)]);
    }
  });
});

it('types have their tools, prompts and turns; turns are as given up to 50; none can spawn', async () => {
  const nested = [{ calls: [{ tool: 'task', args: ask('more') }] }, { text: 'alone' }];
  await using server = await startDialectServer('openfork', { answers: { nested, 'be ': { text: 'been' } } });
  const types = ['general', 'explore', 'planner', 'researcher'];
  for (const type of types) await server.call('task', ask(`be ${type}`, { subagent_type: type }));
  for (const max_turns of [3, 99]) await server.call('task', ask('be quick', { max_turns }));
  await server.call('task', ask('nested'));
  const sent = (word: string) => getToolNames(server.findRequests(word)[0] ?? { body: {} });
  expect(types.map((type) => sent(`be ${type}`))).toEqual([
    ['bash', 'edit', 'glob', 'grep', 'list', 'read', 'write'],
    ['glob', 'grep', 'list', 'read'],
    ['glob', 'grep', 'list', 'read', 'todo'],
    ['read', 'webfetch', 'websearch'],
  ]);
  const [explorer] = server.findRequests('be explore');
  expect(explorer && getSystemPrompt(explorer)).toContain('You are a codebase exploration specialist. Your job is to:');
  expect(explorer && getFirstMessage(explorer)).toBe('be explore');
  const turns = (await server.listRuns()).map(({ grant }) => grant.limits.maxTurns?.value);
  expect(turns.reverse()).toEqual([20, 15, 10, 10, 3, 50, 20]);
  expect(JSON.stringify(server.findRequests('nested')[1]?.body.messages)).toMatch(
    /This agent cannot spawn subagents\. Only primary agents can use the task tool\./,
  );
});

describe('in the background', () => {
  it('answers with the text of the source, then pending or running, then with wait the result; children of a parent can be listed', async () => {
    await using server = await startDialectServer('openfork', { answers: { scan: { text: 'Twelve endpoints.' } }, held: ['scan'] });
    const launched = readOnlyText(await server.call('task', ask('scan', { subagent_type: 'explore', run_in_background: true })));
    const id = idIn(launched);
    const about = `- ID: ${id}\n- Type: explore\n- Description: to scan`;
    expect(launched).toBe(
      `Subagent launched in background.\n${about}\n\nUse 'task_status' to check progress or wait for completion event.`,
    );
    await server.asked('scan');
    expect(readOnlyText(await server.call('task_status', { id }))).toBe(`Status: running\n${about}`);
    const waiting = server.call('task_status', { id, wait: true });
    server.release('scan');
    const ended = readOnlyText(await waiting);
    expect(ended).toBe(`Status: completed\n${about}\n\n## Subagent Result (explore)\n\nTwelve endpoints.`);
    expect(readOnlyText(await server.call('task_status', { id }))).toBe(ended);
    const { parentId } = await server.findRun('scan');
    expect(await readChildren(server.place, parentId)).toMatchObject([
      { runId: id, agent: 'openfork/explore', status: 'completed', label: 'to scan' },
    ]);
  });

  it('task_cancel ends a subagent and returns its status', async () => {
    await using server = await startDialectServer('openfork', { answers: { endless: { text: 'never' } }, held: ['endless'] });
    const id = idIn(readOnlyText(await server.call('task', ask('endless', { run_in_background: true }))));
    await server.asked('endless');
    expect(readOnlyText(await server.call('task_cancel', { id }))).toMatch(/^Status: (running|cancelled)\n- ID: /);
    const ended = readOnlyText(await server.call('task_status', { id, wait: true }));
    expect(ended).toMatch(/^Status: cancelled\n- ID: .*\n- Type: general\n- Description: to endless\n\nSubagent failed: cancelled \(.+\)$/);
    expect(readOnlyText(await server.call('task_cancel', { id }))).toBe(ended);
    expect((await server.findRun('endless')).outcome?.status).toBe('cancelled');
  });
});

describe('how outcomes are shown', () => {
  it('completed: the heading and the text of all turns', async () => {
    const steps = [{ text: 'I look.', calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'Seen.' }];
    await using server = await startDialectServer('openfork', { answers: { look: steps } });
    const result = await server.call('task', ask('look', { subagent_type: 'planner' }));
    expect([result.isError, readOnlyText(result)]).toEqual([
      undefined,
      expect.stringMatching(/^## Subagent Result \(planner\)\n\nI look\.\s+Seen\.$/),
    ]);
  });

  it('exhausted, cancelled and failed: an error with the reason and the partial text', async () => {
    const far = [{ text: 'I begin.', calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'as far as I came' }];
    const denied = { fault: { kind: 'status' as const, status: 401, message: 'bad key' } };
    await using server = await startDialectServer('openfork', { answers: { far, stopped: { text: 'x' }, denied }, held: ['stopped'] });
    const stopping = server.call('task', ask('stopped'));
    const exhausted = await server.call('task', ask('far', { max_turns: 1 }));
    expect([exhausted.isError, readOnlyText(exhausted)]).toEqual([
      true,
      expect.stringMatching(/^Subagent failed: .*turn.*\n\nI begin\.\s+as far as I came$/),
    ]);
    const failed = await server.call('task', ask('denied'));
    expect([failed.isError, readOnlyText(failed)]).toEqual([true, expect.stringMatching(/^Subagent failed: .*(401|bad key)/)]);
    await server.asked('stopped');
    await server.cancelRun('stopped');
    const stopped = await stopping;
    expect([stopped.isError, readOnlyText(stopped)]).toEqual([true, expect.stringMatching(/^Subagent failed: cancelled \(.+\)$/)]);
  });

  it('timed out: an error; its status is failed', async () => {
    await using server = await startDialectServer('openfork', {
      answers: { slow: { text: 'x' } },
      held: ['slow'],
      args: ['--timeout', '1s'],
    });
    const late = await server.call('task', ask('slow'));
    expect([late.isError, readOnlyText(late)]).toEqual([true, expect.stringMatching(/^Subagent failed: .*(time|deadline)/)]);
    const { runId } = await server.findRun('slow');
    expect(readOnlyText(await server.call('task_status', { id: runId }))).toMatch(/^Status: failed\n/);
  });
});

it('ExecuteSubSession_InheritsParentPermissions: what the owner denies is denied, and ask is deny', async () => {
  const tried = [
    {
      calls: [
        { tool: 'write', args: { path: 'a.txt', content: 'a' } },
        { tool: 'bash', args: { command: 'ls' } },
      ],
    },
    { text: 'no' },
  ];
  await using server = await startDialectServer('openfork', { answers: { tried }, args: ['--deny', 'write', '--sandbox', 'off'] });
  await server.call('task', ask('tried'));
  const told = JSON.stringify(server.findRequests('tried')[1]?.body.messages);
  expect(told).toMatch(/Permission denied: write \(rule `deny write` of [^)]+\)/);
  expect(told).toMatch(/Permission required: bash \([^)]+\)\. Subagents cannot request user permission\./);
  expect(existsSync(join(server.place.folder, 'a.txt'))).toBe(false);
});

it('Cleanup: a client that closes ends its subagents and their commands; the rows stay', async () => {
  const busy = { calls: [{ tool: 'bash', args: { command: 'echo $$ > pid; exec sleep 600' } }] };
  await using server = await startDialectServer('openfork', {
    answers: { busy, waits: { text: 'x' } },
    held: ['waits'],
    args: ['--allow', 'bash'],
  });
  for (const prompt of ['busy', 'waits']) await server.call('task', ask(prompt, { run_in_background: true }));
  const file = join(server.place.folder, 'pid');
  await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8').trim(), { timeout: 10_000 }).toMatch(/^\d+$/);
  await server.asked('waits');
  const [pid, below] = [server.pid(), listDescendants(server.pid())];
  expect(below.length).toBeGreaterThan(0);
  await server.client.close();
  await waitForExit(pid);
  expect(below.filter((each) => isAlive(each.pid))).toEqual([]);
  const rows = (await server.listRuns()).map(({ outcome }) => [outcome?.status, outcome?.terminated]);
  expect(rows).toEqual(Array(2).fill(['cancelled', 'client_gone']));
});

it('a server killed with -9 leaves no command behind; the next one reports its subagents as cancelled', async () => {
  const busy = { calls: [{ tool: 'bash', args: { command: 'echo $$ > pid; (setsid sleep 600 &); exec sleep 600' } }] };
  await using server = await startDialectServer('openfork', { answers: { busy }, args: ['--allow', 'bash'] });
  const id = idIn(readOnlyText(await server.call('task', ask('busy', { run_in_background: true }))));
  const file = join(server.place.folder, 'pid');
  await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8').trim(), { timeout: 10_000 }).toMatch(/^\d+$/);
  const below = listDescendants(server.pid());
  process.kill(server.pid(), 'SIGKILL');
  await waitForExit(server.pid());
  await expect.poll(() => below.filter((each) => isAlive(each.pid)), { timeout: 10_000 }).toEqual([]);
  await using next = await server.startAgain();
  expect(readOnlyText(await next.call('task_status', { id, wait: true }))).toMatch(/^Status: cancelled\n[\s\S]*went away/);
});

it('a client that gives up after its timeout loses nothing: the next result includes it, and it is readable by id', async () => {
  const answers = { slow: { text: 'the slow finding' }, quick: { text: 'quick' } };
  await using server = await startDialectServer('openfork', { answers, held: ['slow'] });
  await expect(server.call('task', ask('slow'), { timeout: 1000 })).rejects.toThrow(/timed out/i);
  await server.asked('slow');
  server.release('slow');
  const { runId } = await server.findRun('slow');
  await server.place.until(['show', runId], (run: { status: string }) => run.status === 'completed');
  const next = readTexts(await server.call('task', ask('quick')));
  expect(next).toEqual([
    '## Subagent Result (general)\n\nquick',
    expect.stringContaining(`[run ${runId} · completed · 1 turn · "to slow"]\nthe slow finding`),
  ]);
  expect(readOnlyText(await server.call('task_status', { id: runId }))).toContain('Status: completed');
});
