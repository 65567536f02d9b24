// The codex dialect over MCP: the real program, the official client, agents in the background.
import { describe, expect, it } from 'vitest';
import { readTexts, waitForExit } from './support.ts';
import { findTool, getFirstMessage, getToolNames, hex16, parseStructured, readOnlyText, startDialectServer } from './support-dialect.ts';

type Server = Awaited<ReturnType<typeof startDialectServer>>;
const spawn = async (server: Server, message: string, more: object = {}) =>
  parseStructured<{ agent_id: string }>(await server.call('spawn_agent', { message, ...more })).agent_id;

it('the tools: names, parameters and results', async () => {
  await using server = await startDialectServer('codex');
  const { tools } = await server.client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(['spawn_agent', 'send_input', 'resume_agent', 'wait_agent', 'close_agent']);
  const wait = await findTool(server.client, 'wait_agent');
  expect([wait.inputSchema.required, Object.keys(wait.inputSchema.properties)]).toEqual([['targets'], ['targets', 'timeout_ms']]);
  expect(wait.annotations).toMatchObject({ readOnlyHint: true });
  expect((await findTool(server.client, 'spawn_agent')).outputSchema).toMatchObject({ required: ['agent_id', 'nickname'] });
});

it('spawn, wait for the first of several, give more input, close, reopen', async () => {
  const answers = { quick: [{ text: 'The quick answer.' }, { text: 'A second answer.' }], slow: { text: 'x' } };
  await using server = await startDialectServer('codex', { answers, held: ['slow'] });
  const [quick, slow] = [await spawn(server, 'quick', { agent_type: 'explorer' }), await spawn(server, 'slow')];
  expect([quick, slow]).toEqual([expect.stringMatching(hex16), expect.stringMatching(hex16)]);
  const waited = parseStructured(await server.call('wait_agent', { targets: [slow, quick], timeout_ms: 30_000 }));
  expect(waited).toEqual({ status: { [quick]: { completed: 'The quick answer.' } }, timed_out: false });
  const sent = parseStructured<{ submission_id: string }>(await server.call('send_input', { target: quick, message: 'again' }));
  expect(sent.submission_id).not.toBe(quick);
  expect(parseStructured(await server.call('wait_agent', { targets: [quick] }))).toEqual({
    status: { [quick]: { completed: 'A second answer.' } },
    timed_out: false,
  });
  await server.asked('slow');
  expect(parseStructured(await server.call('close_agent', { target: slow }))).toEqual({ previous_status: 'running' });
  expect(parseStructured(await server.call('resume_agent', { id: slow }))).toEqual({ status: 'interrupted' });
  const [explorer] = server.findRequests('quick');
  expect(explorer && [getFirstMessage(explorer), getToolNames(explorer)]).toEqual(['quick', ['glob', 'grep', 'list', 'read']]);
  expect((await server.findRun('slow')).outcome?.status).toBe('cancelled');
});

it('an agent that ended meanwhile is reported once, with the next result of any tool', async () => {
  await using server = await startDialectServer('codex', { answers: { one: { text: 'first' }, two: { text: 'second' } } });
  const one = await spawn(server, 'one');
  await server.place.until(['show', one], (run: { status: string }) => run.status === 'completed');
  const texts = readTexts(await server.call('spawn_agent', { message: 'two' }));
  expect(texts[1]).toContain(`[run ${one} · completed`);
  const two = (JSON.parse(texts[0] ?? '') as { agent_id: string }).agent_id;
  expect(parseStructured(await server.call('wait_agent', { targets: [two] }))).toMatchObject({
    status: { [two]: { completed: 'second' } },
  });
});

describe('errors', () => {
  it('name the parameter, and unknown agents are not found', async () => {
    await using server = await startDialectServer('codex', { answers: { x: { text: 'x' } } });
    // Its result must not come with that of a later call.
    await server.call('wait_agent', { targets: [await spawn(server, 'x')] });
    const refused: [string, object, RegExp][] = [
      ['spawn_agent', { message: 'x', agent_type: 'wizard' }, /^agent_type: /],
      ['spawn_agent', { message: 'x', fork_context: true }, /^fork_context: /],
      ['spawn_agent', { message: 'x', reasoning_effort: 'ultra' }, /reasoning_effort/],
      ['spawn_agent', {}, /^message: /],
      ['send_input', { target: 'nope', message: 'x' }, /^Agent not found: target: nope/],
      ['close_agent', { target: 'nope' }, /^Agent not found: target: nope/],
      ['wait_agent', { targets: [] }, /^targets: /],
    ];
    for (const [name, args, said] of refused) {
      const result = await server.call(name, args);
      expect([name, result.isError, readTexts(result)[0]]).toEqual([name, true, expect.stringMatching(said)]);
    }
    expect(parseStructured(await server.call('wait_agent', { targets: ['nope'] }))).toEqual({
      status: { nope: 'not_found' },
      timed_out: false,
    });
  });

  it('failures are errored, and more agents than max_threads are refused', async () => {
    const denied = { fault: { kind: 'status' as const, status: 401, message: 'bad key' } };
    const config = { dialects: { codex: { max_threads: 1 } } };
    await using server = await startDialectServer('codex', { answers: { denied, held: { text: 'x' } }, held: ['held'], config });
    const failed = await spawn(server, 'denied');
    const { status } = parseStructured<{ status: Record<string, { errored: string }> }>(
      await server.call('wait_agent', { targets: [failed] }),
    );
    expect(status[failed]?.errored).toMatch(/401|bad key/);
    await spawn(server, 'held');
    const full = await server.call('spawn_agent', { message: 'held too' });
    expect([full.isError, readOnlyText(full)]).toEqual([true, expect.stringContaining('All 1 agents')]);
  });
});

it('a client that closes ends its agents; the next one can read and continue them', async () => {
  await using server = await startDialectServer('codex', {
    answers: { endless: { text: 'done' } },
    held: ['endless'],
  });
  const id = await spawn(server, 'endless');
  await server.asked('endless');
  const pid = server.pid();
  await server.client.close();
  await waitForExit(pid);
  expect((await server.findRun('endless')).outcome).toMatchObject({ status: 'cancelled', terminated: 'client_gone' });
  await using next = await server.startAgain();
  await next.client.listTools();
  expect(parseStructured(await next.call('wait_agent', { targets: [id] }))).toEqual({ status: { [id]: 'shutdown' }, timed_out: false });
  server.release('endless');
  await next.call('send_input', { target: id, message: 'onward' });
  expect(parseStructured(await next.call('wait_agent', { targets: [id] }))).toEqual({
    status: { [id]: { completed: 'done' } },
    timed_out: false,
  });
});
