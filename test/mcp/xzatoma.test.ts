// XZatoma over MCP: the real program and the official client; nesting, tool filters, parallel subagents, and quotas for the tree.
import { describe, expect, it } from 'vitest';
import { readTexts } from './support.ts';
import { findTool, getMessages, getText, getToolNames, parseStructured, readChildren, startDialectServer } from './support-dialect.ts';

interface Result {
  success: boolean;
  output: string;
  error: string | null;
  metadata: Record<string, string>;
}

const ask = (task_prompt: string, more: object = {}) => ({ label: `l-${task_prompt}`, task_prompt, ...more });
const nested = (task_prompt: string) => ({ calls: [{ tool: 'subagent', args: ask(task_prompt) }] });
const looks = { text: 'I begin.', calls: [{ tool: 'list', args: { path: '.' } }] };

describe('the tools', () => {
  it('match the source: names, parameters, results', async () => {
    await using server = await startDialectServer('xzatoma');
    expect((await server.client.listTools()).tools.map(({ name }) => name)).toEqual(['subagent', 'parallel_subagent']);
    const tool = await findTool(server.client, 'subagent');
    expect(tool.inputSchema.required).toEqual(['label', 'task_prompt']);
    expect(Object.keys(tool.inputSchema.properties)).toEqual(['label', 'task_prompt', 'summary_prompt', 'allowed_tools', 'max_turns']);
    expect(tool.outputSchema?.required).toEqual(['success', 'output', 'error', 'metadata']);
    const parallel = await findTool(server.client, 'parallel_subagent');
    expect([Object.keys(parallel.inputSchema.properties), parallel.inputSchema.properties.max_concurrent?.default]).toEqual([
      ['tasks', 'max_concurrent'],
      5,
    ]);
  });

  it('refuse wrong parameters by name, in the shape of a result (tests 2, 8 to 12)', async () => {
    await using server = await startDialectServer('xzatoma');
    for (const [args, said] of [
      [{ label: 'x' }, /task_prompt/],
      [{ task_prompt: 'x' }, /label/],
      [ask('x', { allowed_tools: 'grep' }), /allowed_tools/],
      [ask('x', { tools: ['grep'] }), /tools/],
    ] as const) {
      const result = await server.call('subagent', args);
      expect([result.isError, parseStructured(result)]).toEqual([
        true,
        { success: false, output: '', error: expect.stringMatching(said), metadata: {} },
      ]);
    }
    for (const [args, said] of [
      [{ label: 'x', task_prompt: ' ' }, /^task_prompt: /],
      [{ label: ' ', task_prompt: 'x' }, /^label: must not be empty$/],
      [ask('x', { max_turns: 0 }), /^max_turns: must be from 1 to 50$/],
      [ask('x', { max_turns: 51 }), /^max_turns: must be from 1 to 50$/],
      [ask('x', { allowed_tools: ['subagent'] }), /^allowed_tools: `subagent`/],
      [ask('x', { allowed_tools: ['grep', 'no_such'] }), /^allowed_tools: .*no_such/],
    ] as const) {
      const result = await server.call('subagent', args);
      expect(result.isError).toBe(true);
      expect(parseStructured(result)).toMatchObject({ success: false, output: '', error: expect.stringMatching(said) });
    }
    const several = await server.call('parallel_subagent', { tasks: [ask('x'), ask('y', { max_turns: 99 })] });
    expect([several.isError, parseStructured(several)]).toEqual([true, { results: [], error: 'tasks[1].max_turns: must be from 1 to 50' }]);
    for (const [args, said] of [
      [{ tasks: [] }, /^tasks: /],
      [{ tasks: [ask('x')], max_concurrent: 0 }, /^max_concurrent: /],
    ] as const) {
      const result = await server.call('parallel_subagent', args);
      expect([result.isError, parseStructured(result)]).toEqual([true, { results: [], error: expect.stringMatching(said) }]);
    }
  });
});

it('14, 15: basic delegation returns the summary that a second prompt asks for, with metadata as strings', async () => {
  const docs = [{ text: 'all that I found' }, { text: 'Three ways: key, token, cookie.' }];
  await using server = await startDialectServer('xzatoma', { answers: { authentication: docs } });
  const result = parseStructured<Result>(
    await server.call('subagent', {
      label: 'research_docs',
      task_prompt: 'Find the authentication API documentation',
      summary_prompt: 'Summarize the key authentication methods',
    }),
  );
  expect(Object.keys(result)).toEqual(['success', 'output', 'error', 'metadata']);
  expect(result).toEqual({
    success: true,
    output: 'Three ways: key, token, cookie.',
    error: null,
    metadata: {
      subagent_label: 'research_docs',
      recursion_depth: '1',
      completion_status: 'complete',
      turns_used: expect.stringMatching(/^\d+$/),
      max_turns_reached: 'false',
      tokens_consumed: '30',
    },
  });
  const [, second] = server.findRequests('authentication');
  expect(second && getMessages(second).map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  expect(second && getText(getMessages(second)[2] as never)).toContain('Summarize the key authentication methods');
});

it('a summary is requested without a summary_prompt too; max_turns is 10 by default', async () => {
  await using server = await startDialectServer('xzatoma', { answers: { plain: [{ text: 'much' }, { text: 'short' }] } });
  for (const more of [{}, { max_turns: 5, summary_prompt: null, allowed_tools: null }]) {
    expect(parseStructured(await server.call('subagent', ask('plain', more)))).toMatchObject({ success: true, output: 'short' });
  }
  expect(JSON.stringify(server.findRequests('plain')[1]?.body.messages)).toContain('Summarize your findings concisely');
  expect((await server.listRuns()).map(({ grant }) => grant.limits.maxTurns?.value)).toEqual([5, 10]);
});

describe('tool filtering', () => {
  it('6, 7: all tools, or those of the list with aliases expanded; delegation stays available', async () => {
    await using server = await startDialectServer('xzatoma', {
      answers: { all: { text: 'a' }, logs: { text: 'b' }, net: { text: 'c' }, none: { text: 'd' } },
    });
    await server.call('subagent', ask('all'));
    await server.call('subagent', { label: 'analyze_logs', task_prompt: 'logs', allowed_tools: ['grep', 'file_ops'], max_turns: 5 });
    await server.call('subagent', ask('net', { allowed_tools: ['fetch', 'terminal'] }));
    await server.call('subagent', ask('none', { allowed_tools: [] }));
    const sent = (word: string) => getToolNames(server.findRequests(word)[0] ?? { body: {} });
    const delegating = ['parallel_subagent', 'subagent'];
    expect(sent('all')).toEqual(
      expect.arrayContaining([...delegating, 'bash', 'edit', 'glob', 'grep', 'list', 'read', 'webfetch', 'write']),
    );
    expect(sent('logs')).toEqual(['glob', 'grep', 'list', 'read', ...delegating].sort());
    expect(sent('net')).toEqual(['bash', 'webfetch', ...delegating].sort());
    expect(sent('none')).toEqual(delegating);
  });

  it('9: a tool that the rules of the user take away is refused by name', async () => {
    await using server = await startDialectServer('xzatoma', { answers: { net: { text: 'c' } }, args: ['--deny', 'bash'] });
    const refused = await server.call('subagent', ask('net', { allowed_tools: ['fetch', 'terminal'] }));
    expect(refused.isError).toBe(true);
    expect(parseStructured(refused)).toMatchObject({ success: false, error: expect.stringMatching(/^allowed_tools: `bash`/) });
    expect(server.findRequests('net')).toEqual([]);
  });

  it('applies below too: a nested subagent has only tools that its parent has', async () => {
    const answers = { outer: [nested('inner'), { text: 'done' }], inner: { text: 'in' } };
    await using server = await startDialectServer('xzatoma', { answers });
    await server.call('subagent', ask('outer', { allowed_tools: ['grep'] }));
    expect(getToolNames(server.findRequests('inner')[0] ?? { body: {} })).toEqual(['grep', 'parallel_subagent', 'subagent']);
  });
});

it('4: nesting to two levels; past the limit a call returns an error that names the depth', async () => {
  const answers = { outer: [nested('inner'), { text: 'outer done' }], inner: [nested('innermost'), { text: 'inner done' }] };
  await using server = await startDialectServer('xzatoma', { answers });
  const result = parseStructured<Result>(await server.call('subagent', ask('outer')));
  expect(result).toMatchObject({ success: true, output: 'outer done', metadata: { recursion_depth: '1' } });
  expect((await server.listRuns()).map(({ depth, outcome }) => [depth, outcome?.status])).toEqual([
    [2, 'completed'],
    [1, 'completed'],
  ]);
  expect(getToolNames(server.findRequests('inner')[0] ?? { body: {} })).toContain('subagent');
  expect(JSON.stringify(server.findRequests('inner')[1]?.body.messages)).toMatch(/Maximum recursion depth exceeded: .*depth/);
  expect(JSON.stringify(server.findRequests('outer')[1]?.body.messages)).toMatch(/recursion_depth\\*":\\*"2/);
});

describe('parallel_subagent', () => {
  it('gives results in task order, however they end, at most max_concurrent at a time', async () => {
    const denied = { fault: { kind: 'status' as const, status: 401, message: 'bad key' } };
    const answers = { slow: { text: 'of slow' }, denied, quick: { text: 'of quick' } };
    await using server = await startDialectServer('xzatoma', { answers, held: ['slow'] });
    const given = server.call('parallel_subagent', { tasks: ['slow', 'denied', 'quick'].map((word) => ask(word)), max_concurrent: 2 });
    await server.asked('quick');
    server.release('slow');
    const { results } = parseStructured<{ results: Result[] }>(await given);
    expect(results.map(({ success, output, metadata }) => [success, output, metadata.subagent_label])).toEqual([
      [true, 'of slow', 'l-slow'],
      [false, '', 'l-denied'],
      [true, 'of quick', 'l-quick'],
    ]);
  });

  it('with max_concurrent 1 the next one starts when the previous one has ended', async () => {
    const answers = { first: { text: '1' }, second: { text: '2' } };
    await using server = await startDialectServer('xzatoma', { answers, held: ['first'] });
    const given = server.call('parallel_subagent', { tasks: [ask('first'), ask('second')], max_concurrent: 1 });
    await server.asked('first');
    expect(await server.listRuns()).toHaveLength(1);
    server.release('first');
    expect(parseStructured<{ results: Result[] }>(await given).results.map(({ output }) => output)).toEqual(['1', '2']);
  });
});

describe('quotas for the whole tree', () => {
  it('of runs: a run beyond the limit is refused, and the tree continues', async () => {
    const calls = ['one', 'two'].map((word) => ({ tool: 'subagent', args: ask(word) }));
    const answers = { outer: [{ calls }, { text: 'done' }], one: { text: '1' }, two: { text: '2' } };
    await using server = await startDialectServer('xzatoma', { answers, config: { limits: { maxRuns: 2 } } });
    expect(parseStructured(await server.call('subagent', ask('outer')))).toMatchObject({ success: true, output: 'done' });
    expect((await server.listRuns()).filter(({ depth }) => depth === 2)).toHaveLength(1);
    expect(JSON.stringify(server.findRequests('outer')[1]?.body.messages)).toMatch(/maxRuns|2 runs/);
  });

  it('of tokens: spending of nested subagents counts', async () => {
    const spends = { text: 'spent', usage: { input: 50_000, output: 10 } };
    const answers = { outer: [nested('inner'), { text: 'done' }], inner: spends };
    await using server = await startDialectServer('xzatoma', { answers, config: { limits: { maxTokens: 60_000 } } });
    const result = parseStructured<Result>(await server.call('subagent', ask('outer')));
    expect(result.metadata.completion_status).toBe('incomplete');
    const { outcome } = await server.findRun('outer');
    expect(outcome).toMatchObject({ status: 'exhausted', terminated: 'max_tokens' });
  });

  it('of time: a nested subagent ends with its parent', async () => {
    const answers = { outer: [nested('inner'), { text: 'done' }], inner: { text: 'x' } };
    await using server = await startDialectServer('xzatoma', { answers, held: ['inner'], config: { limits: { timeoutMs: 3000 } } });
    const result = parseStructured<Result>(await server.call('subagent', ask('outer')));
    expect(result).toMatchObject({ success: false, metadata: { completion_status: 'incomplete' } });
    const runs = await server.listRuns();
    expect(runs.map(({ outcome }) => outcome?.status)).toEqual(Array(2).fill('timed_out'));
  });
});

it('output of more than 4,096 bytes is cut, with a notice', async () => {
  await using server = await startDialectServer('xzatoma', { answers: { long: { text: 'y'.repeat(5000), chunkSize: 1000 } } });
  const { output } = parseStructured<Result>(await server.call('subagent', ask('long')));
  expect(output).toBe(`${'y'.repeat(4096)}\n[truncated: kept 4096 of 5000 bytes]`);
});

describe('how outcomes are shown', () => {
  it('16: exhausted: an incomplete success with the partial work; the summary is the wrap-up', async () => {
    await using server = await startDialectServer('xzatoma', {
      answers: { far: [looks, { text: 'as far as I came' }], mute: [{ calls: looks.calls }, {}] },
    });
    expect(parseStructured(await server.call('subagent', ask('far', { max_turns: 1 })))).toMatchObject({
      success: true,
      output: 'as far as I came',
      error: null,
      metadata: { completion_status: 'incomplete', turns_used: '1', max_turns_reached: 'true' },
    });
    expect(parseStructured(await server.call('subagent', ask('mute', { max_turns: 1 })))).toMatchObject({
      success: false,
      output: '',
      error: expect.stringMatching(/^max_turns: /),
      metadata: { completion_status: 'incomplete' },
    });
    const [, wrapUp] = server.findRequests('far');
    expect(wrapUp?.body.tool_choice).toEqual({ type: 'none' });
    expect(JSON.stringify(wrapUp?.body.messages)).toContain('Summarize your findings concisely');
  });

  it('cancelled and failed: success false, incomplete, with the code', async () => {
    const denied = { fault: { kind: 'status' as const, status: 401, message: 'bad key' } };
    await using server = await startDialectServer('xzatoma', { answers: { stopped: { text: 'x' }, denied }, held: ['stopped'] });
    const stopping = server.call('subagent', ask('stopped'));
    const metadata = { completion_status: 'incomplete', max_turns_reached: 'false' };
    expect(parseStructured(await server.call('subagent', ask('denied')))).toMatchObject({
      success: false,
      output: '',
      error: expect.stringMatching(/^\w+: .*(401|bad key)/),
      metadata,
    });
    await server.asked('stopped');
    await server.cancelRun('stopped');
    expect(parseStructured(await stopping)).toMatchObject({
      success: false,
      output: '',
      error: expect.stringMatching(/^cancelled: /),
      metadata,
    });
  });

  it('timed out: success false, incomplete', async () => {
    await using server = await startDialectServer('xzatoma', {
      answers: { slow: { text: 'x' } },
      held: ['slow'],
      args: ['--timeout', '1s'],
    });
    expect(parseStructured(await server.call('subagent', ask('slow')))).toMatchObject({
      success: false,
      output: '',
      error: expect.stringMatching(/^(timed_out|deadline|timeout): /),
      metadata: { completion_status: 'incomplete' },
    });
  });
});

it('18, 19: a failing tool is a result, and the subagent continues', async () => {
  const steps = [
    {
      calls: [
        { tool: 'read', args: { path: 'gone.txt' } },
        { tool: 'bash', args: { command: 'ls gone.txt' } },
      ],
    },
    { text: 'without it' },
  ];
  await using server = await startDialectServer('xzatoma', { answers: { adapt: steps } });
  expect(parseStructured(await server.call('subagent', ask('adapt')))).toMatchObject({ success: true, output: 'without it' });
  const told = server.findRequests('adapt')[1]?.body.messages as { content: { type: string; is_error?: boolean }[] }[];
  expect(told.at(-1)?.content.map(({ type, is_error }) => [type, is_error])).toEqual(Array(2).fill(['tool_result', true]));
});

it('a client that gives up after its timeout loses nothing: every task is done, and the next result includes them', async () => {
  const answers = { slow: { text: 'the slow finding' }, after: { text: 'the one after' }, quick: { text: 'quick' } };
  await using server = await startDialectServer('xzatoma', { answers, held: ['slow'] });
  const given = server.call('parallel_subagent', { tasks: [ask('slow'), ask('after')], max_concurrent: 1 }, { timeout: 1000 });
  await expect(given).rejects.toThrow(/timed out/i);
  await server.asked('after');
  server.release('slow');
  const { parentId, runId } = await server.findRun('slow');
  await expect
    .poll(async () => (await readChildren(server.place, parentId)).map(({ status }) => status), { timeout: 15_000 })
    .toEqual(['completed', 'completed']);
  const next = await server.call('subagent', ask('quick'));
  expect(next.structuredContent).toMatchObject({ success: true, output: 'quick' });
  const [, since = ''] = readTexts(next);
  expect(since).toContain(`[run ${runId} · completed`);
  for (const text of ['the slow finding', 'the one after']) expect(since).toContain(text);
});
