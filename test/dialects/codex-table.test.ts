// The five tools of the codex dialect as tables: the requests of calls, and the results as Codex writes them.
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { effortLevels } from '../../src/contract/effort.ts';
import {
  createEndedChild,
  createFailedChild,
  createLiveChild,
  createRefusal,
  id,
  loadDialect,
  mcpContext,
  modelContext,
} from './table-support.ts';

const { dialect, tool, request, result, findProblems } = loadDialect('codex');
const other = '00000000000000ff';
const brief = { task: 'find it', label: 'find it', agent: 'codex/default', background: true };
const spawned = (more: object) => ({ kind: 'delegate', briefs: [{ ...brief, ...more }], waitMs: 0 });
const refused = (message: string) => ({ kind: 'refuse', message });
const waiting = (ids: string[], waitMs: number) => ({ kind: 'wait', ids, mode: 'any', waitMs, newest: true });
const message = { kind: 'message', id, text: 'more', newest: true };

describe('requests', () => {
  test.each([
    { name: 'spawn_agent', input: { message: 'find it' }, wanted: spawned({}) },
    { name: 'spawn_agent', input: { message: 'find it', agent_type: 'explorer' }, wanted: spawned({ agent: 'codex/explorer' }) },
    { name: 'spawn_agent', input: { message: 'find it', agent_type: ' worker ' }, wanted: spawned({ agent: 'codex/worker' }) },
    { name: 'spawn_agent', input: { message: 'find it', agent_type: '' }, wanted: spawned({}) },
    { name: 'spawn_agent', input: { message: 'find it', agent_type: 'review' }, wanted: spawned({ agent: 'review' }) },
    { name: 'spawn_agent', input: { message: 'find it', model: 'openai/x' }, wanted: spawned({ model: 'openai/x' }) },
    { name: 'spawn_agent', input: { message: 'find it', fork_context: false }, wanted: spawned({}) },
    {
      name: 'spawn_agent',
      input: { items: [{ type: 'text', text: 'find' }, { text: 'it' }, { type: 'mention', name: 'App', path: 'app://a' }] },
      wanted: spawned({ task: 'find\nit\n[mention App](app://a)', label: 'find it [mention App](app://a)' }),
    },
    {
      name: 'spawn_agent',
      input: { message: `${'long '.repeat(20)}\nend` },
      wanted: spawned({ task: `${'long '.repeat(20)}\nend`, label: `${'long '.repeat(12)}…` }),
    },
    {
      name: 'spawn_agent',
      input: { message: 'find it', fork_context: true },
      wanted: refused('fork_context: an agent cannot start with your conversation; write what it must know in message'),
    },
    { name: 'spawn_agent', input: {}, wanted: refused('message: give message or items') },
    {
      name: 'spawn_agent',
      input: { message: 'a', items: [{ text: 'b' }] },
      wanted: refused('message: give either message or items, not both'),
    },
    { name: 'spawn_agent', input: { message: ' ' }, wanted: refused('message: must not be empty') },
    { name: 'spawn_agent', input: { items: [] }, wanted: refused('items: must not be empty') },
    { name: 'spawn_agent', input: { items: [{ type: 'text' }] }, wanted: refused('items[0].text: is missing') },
    { name: 'spawn_agent', input: { items: [{ type: 'skill', name: 'x' }] }, wanted: refused('items[0].path: is missing') },
    {
      name: 'spawn_agent',
      input: { items: [{ text: 'a' }, { type: 'image' }] },
      wanted: refused('items[1].type: agents can be given text, mention and skill, not "image"'),
    },
    {
      name: 'spawn_agent',
      input: { message: 'x'.repeat(65_537) },
      wanted: refused('message: must be at most 65536 bytes; give long material as a file or as context'),
    },
    { name: 'send_input', input: { target: id, message: 'more' }, wanted: message },
    { name: 'send_input', input: { target: id, items: [{ text: 'more' }] }, wanted: message },
    { name: 'send_input', input: { target: id, message: 'more', interrupt: true }, wanted: { ...message, interrupt: true } },
    { name: 'send_input', input: { target: id, message: 'more', interrupt: false }, wanted: message },
    { name: 'send_input', input: { target: id }, wanted: refused('message: give message or items') },
    { name: 'wait_agent', input: { targets: [id] }, wanted: waiting([id], 30_000) },
    { name: 'wait_agent', input: { targets: [id, other], timeout_ms: 60_000 }, wanted: waiting([id, other], 60_000) },
    { name: 'wait_agent', input: { targets: [id], timeout_ms: 1 }, wanted: waiting([id], 10_000) },
    { name: 'wait_agent', input: { targets: [id], timeout_ms: 1e12 }, wanted: waiting([id], 3_600_000) },
    { name: 'wait_agent', input: { targets: [id], timeout_ms: 60_000 }, context: mcpContext, wanted: waiting([id], 45_000) },
    { name: 'wait_agent', input: { targets: [id] }, context: mcpContext, wanted: waiting([id], 30_000) },
    { name: 'wait_agent', input: { targets: [] }, wanted: refused('targets: name at least one agent') },
    { name: 'wait_agent', input: { targets: [id], timeout_ms: 0 }, wanted: refused('timeout_ms: must be greater than zero') },
    { name: 'resume_agent', input: { id }, wanted: waiting([id], 0) },
    {
      name: 'close_agent',
      input: { target: id },
      wanted: { kind: 'cancel', ids: [id], reason: 'closed by the agent that started it', newest: true },
    },
  ])('$name $input', ({ name, input, context = modelContext, wanted }) => {
    expect(request(name, input, context)).toEqual(wanted);
  });

  test.each([
    ['spawn_agent', { message: 'x', reasoning_effort: 'ultra' }, /^reasoning_effort: /],
    ['spawn_agent', { message: 'x', service_tier: 'fast' }, /service_tier/],
    ['spawn_agent', { message: 7 }, /^message: /],
    ['spawn_agent', { items: [{ image_url: 'x' }] }, /image_url/],
    ['send_input', { message: 'x' }, /^target: /],
    ['wait_agent', { timeout_ms: 1 }, /^targets: /],
    ['wait_agent', { targets: [id], timeout_ms: '1' }, /^timeout_ms: /],
    ['resume_agent', {}, /^id: /],
    ['close_agent', { id }, /^target: /],
  ])('%s refuses %j by name', (name, given, said) => {
    expect(findProblems(name, given)).toMatch(said);
  });
});

test.each(effortLevels)('the reasoning effort %s is that of the brief', (effort) => {
  expect(request('spawn_agent', { message: 'x', reasoning_effort: effort }, modelContext)).toMatchObject({
    kind: 'delegate',
    briefs: [{ effort }],
  });
});

describe('results', () => {
  const one = { targets: [id] };
  const done = createEndedChild();
  const shutdown = createFailedChild('cancelled', 'enough', { status: 'cancelled' });

  test('spawn_agent: the id, and no nickname', () => {
    expect(result('spawn_agent', { message: 'x' }, [createLiveChild()])).toEqual({
      parts: [{ text: `{"agent_id":"${id}","nickname":null}` }],
      isError: false,
      structured: { agent_id: id, nickname: null },
    });
  });

  test.each([
    { reply: createRefusal('depth', 'x'), said: 'Agents at this depth cannot spawn agents. Do the task yourself.' },
    {
      reply: createRefusal('parent_full', 'x'),
      said: 'All 6 agents that may run at the same time are running (max_threads). Wait for one or close one.',
    },
    {
      reply: createRefusal('unknown_agent', 'x'),
      said: 'agent_type: there is no agent type "codex/default"; available: default, explorer, worker, explore',
    },
    { reply: createRefusal('unknown_model', 'no model x'), said: 'model: no model x' },
    { reply: createRefusal('max_runs', 'enough'), said: 'enough' },
  ])('spawn_agent refused: $said', ({ reply, said }) => {
    expect(result('spawn_agent', { message: 'x' }, [reply])).toEqual({ parts: [{ text: said }], isError: true });
  });

  test.each([
    { name: 'completed', child: done, status: { completed: 'done it' } },
    {
      name: 'cut',
      child: createEndedChild({ truncated: { originalBytes: 9, keptBytes: 7 } }),
      status: { completed: 'done it\n[truncated: kept 7 of 9 bytes]' },
    },
    {
      name: 'exhausted',
      child: createFailedChild('max_turns', 'the limit of 15 turns was reached', { status: 'exhausted', summary: 'half' }),
      status: { errored: 'max_turns: the limit of 15 turns was reached\n\nPartial result:\nhalf' },
    },
    {
      name: 'timed out',
      child: createFailedChild('deadline', 'the deadline passed', { status: 'timed_out' }),
      status: { errored: 'deadline: the deadline passed' },
    },
    { name: 'failed', child: createFailedChild('loop', 'again'), status: { errored: 'loop: again' } },
    { name: 'cancelled', child: shutdown, status: 'shutdown' },
  ])('status of an agent that is $name', ({ child, status }) => {
    const waited = result('wait_agent', one, [child]);
    expect(waited).toMatchObject({ isError: false, structured: { status: { [id]: status }, timed_out: false } });
    expect(waited.parts).toMatchObject([{ run: id }]);
    expect(result('close_agent', { target: id }, [child]).structured).toEqual({ previous_status: status });
  });

  test('wait_agent: only the agents that have ended; nothing at the timeout', () => {
    const running = createLiveChild({ runId: other });
    expect(result('wait_agent', { targets: [id, other] }, [done, running]).structured).toEqual({
      status: { [id]: { completed: 'done it' } },
      timed_out: false,
    });
    expect(result('wait_agent', { targets: [other] }, [running])).toEqual({
      parts: [{ text: '{"status":{},"timed_out":true}' }],
      isError: false,
      structured: { status: {}, timed_out: true },
    });
  });

  test('wait_agent: unknown ids are not_found, under the names that the caller wrote', () => {
    const missing = createRefusal('unknown_run', 'x is none of your delegated runs', 'x');
    const waited = result('wait_agent', { targets: ['x', '__proto__'] }, [missing, missing]);
    expect(waited.parts[0]?.text).toBe('{"status":{"x":"not_found","__proto__":"not_found"},"timed_out":false}');
  });

  test('close_agent: the status before, not after', () => {
    const before = [createLiveChild().view];
    const reply = { kind: 'children' as const, children: [shutdown], before };
    expect(result('close_agent', { target: id }, reply)).toEqual({
      parts: [{ text: '{"previous_status":"running"}' }],
      isError: false,
      structured: { previous_status: 'running' },
    });
  });

  test.each([
    [createLiveChild({ status: 'queued' }), 'pending_init'],
    [createLiveChild({ status: 'waiting' }), 'running'],
    [done, { completed: 'done it' }],
    [shutdown, 'interrupted'],
  ])('resume_agent %#', (child, status) => {
    expect(result('resume_agent', { id }, [child]).structured).toEqual({ status });
  });

  test('send_input: the run that reads the input', () => {
    const follower = createLiveChild({ runId: other });
    expect(result('send_input', { target: id, message: 'x' }, [follower, shutdown]).structured).toEqual({ submission_id: other });
  });

  test.each([
    ['send_input', { target: 'x', message: 'm' }],
    ['close_agent', { target: 'x' }],
    ['resume_agent', { id: 'x' }],
  ])('%s of an unknown id', (name, input) => {
    const given = result(name, input, [createRefusal('unknown_run', 'x is none of your delegated runs', 'x')]);
    const [parameter] = Object.keys(input);
    expect(given).toEqual({ parts: [{ text: `Agent not found: ${parameter}: x is none of your delegated runs` }], isError: true });
  });

  test('a long message is cut inside the JSON', () => {
    const child = createEndedChild({ summary: 'y'.repeat(5000) });
    const { structured, parts } = result('wait_agent', one, [child], { ...modelContext, maxOutputBytes: 1000 });
    expect(parts[0]?.text.length).toBeLessThanOrEqual(1000);
    expect(JSON.stringify(structured)).toContain('[truncated: kept');
  });
});

test('the parameters and results of Codex 0.166.0, less those that Retinue refuses', () => {
  const parameters = dialect.tools.map(({ name, input }) => [name, Object.keys(z.toJSONSchema(input, { io: 'input' }).properties ?? {})]);
  expect(parameters).toEqual([
    ['spawn_agent', ['message', 'items', 'agent_type', 'fork_context', 'model', 'reasoning_effort']],
    ['send_input', ['target', 'message', 'items', 'interrupt']],
    ['resume_agent', ['id']],
    ['wait_agent', ['targets', 'timeout_ms']],
    ['close_agent', ['target']],
  ]);
  expect(dialect.tools.filter(({ polls }) => polls).map(({ name }) => name)).toEqual(['wait_agent']);
  expect(dialect.tools.filter(({ repeatable }) => repeatable === false).map(({ name }) => name)).toEqual(['send_input']);
});

test('agent types are in the description, those of the catalog too', () => {
  const description = tool('spawn_agent').description(modelContext);
  expect(description).toContain('- default: ');
  expect(description).toContain('- explorer: ');
  expect(description).toContain('- worker: ');
  expect(description).toContain('- explore: Looks around.');
});

test('settings: defaults of the source, and wrong ones are refused by name', () => {
  expect(dialect.setup).toMatchObject({ limits: { maxDepth: 1, maxConcurrent: 6 }, whenFull: 'refuse', endsWithClient: true });
  const own = loadDialect('codex', { max_threads: 2, max_depth: 3 });
  expect(own.dialect.setup?.limits).toEqual({ maxDepth: 3, maxConcurrent: 2 });
  expect(own.tool('spawn_agent').description(modelContext)).toContain('At most 2 agents');
  expect(() => loadDialect('codex', { max_threads: 0 })).toThrow(/dialects\.codex\.max_threads/);
  expect(() => loadDialect('codex', { threads: 1 })).toThrow(/dialects\.codex\.threads/);
});

test('the agents: all tools for main, default and worker; explorer reads only', () => {
  expect(dialect.setup?.agents?.map(({ name, tools }) => [name, tools])).toEqual([
    ['codex/main', undefined],
    ['codex/default', undefined],
    ['codex/explorer', ['read', 'glob', 'grep', 'list']],
    ['codex/worker', undefined],
  ]);
});
