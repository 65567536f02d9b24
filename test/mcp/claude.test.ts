// The claude dialect over MCP: the real program, the official client, agents in the foreground and the background.
import { expect, it } from 'vitest';
import { readTexts, waitForExit } from './support.ts';
import { findTool, getSystemPrompt, getToolNames, parseStructured, readOnlyText, startDialectServer } from './support-dialect.ts';

const ask = (prompt: string, more: object = {}) => ({ description: `to ${prompt}`, prompt, ...more });
const blocking = { run_in_background: false };
const idIn = (text: string) => /^agentId: ([0-9a-f]{16}) /m.exec(text)?.[1] as string;

it('the tools: names and parameters; types are in the description', async () => {
  await using server = await startDialectServer('claude');
  const { tools } = await server.client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(['Agent', 'Task', 'TaskOutput', 'TaskStop', 'SendMessage', 'delegate_apply']);
  const agent = await findTool(server.client, 'Agent');
  expect(agent.inputSchema.required).toEqual(['description', 'prompt']);
  expect(agent.description).toMatch(/\n- general-purpose: .*\n- Explore: .*\n- Plan: /);
  const output = await findTool(server.client, 'TaskOutput');
  expect([output.inputSchema.properties.block?.default, output.inputSchema.properties.timeout?.default]).toEqual([true, 30_000]);
});

it('in the foreground, as Agent and as Task: the text, and the object of Claude Code beside it', async () => {
  await using server = await startDialectServer('claude', { answers: { look: { text: 'Seven files.' } } });
  for (const name of ['Agent', 'Task']) {
    const result = await server.call(name, ask('look', { ...blocking, subagent_type: 'Explore' }));
    const [text = ''] = readTexts(result);
    expect(text).toMatch(/^Seven files\.\nagentId: [0-9a-f]{16} \(.*\)\n<usage>subagent_tokens: \d+\nduration_ms: \d+<\/usage>$/);
    expect(result.structuredContent).toMatchObject({
      status: 'completed',
      agentId: idIn(text),
      agentType: 'Explore',
      prompt: 'look',
      content: [{ type: 'text', text: 'Seven files.' }],
    });
  }
  const [explorer] = server.findRequests('look');
  expect(explorer && getToolNames(explorer)).toEqual(['glob', 'grep', 'list', 'read', 'webfetch', 'websearch']);
  expect(explorer && getSystemPrompt(explorer)).toContain('You search files to answer a question');
});

it('in the background: TaskOutput reads the report, SendMessage continues the agent, TaskStop ends one', async () => {
  const answers = { scan: [{ text: 'Twelve endpoints.' }, { text: 'Three of them are open.' }], endless: { text: 'x' } };
  await using server = await startDialectServer('claude', { answers, held: ['scan', 'endless'] });
  const launched = await server.call('Agent', ask('scan', { name: 'scanner' }));
  const id = idIn(readTexts(launched)[0] ?? '');
  expect(launched.structuredContent).toEqual({
    status: 'async_launched',
    isAsync: true,
    agentId: id,
    description: 'scanner',
    prompt: 'scan',
  });
  await server.asked('scan');
  const read = async (task_id: string, more: object = {}) => readOnlyText(await server.call('TaskOutput', { task_id, ...more }));
  expect(await read('scanner', { block: false })).toContain('<retrieval_status>not_ready</retrieval_status>');
  const waiting = read('scanner');
  server.release('scan');
  expect(await waiting).toContain('<status>completed</status>\n\n<output>\nTwelve endpoints.\n</output>');
  const sent = parseStructured(await server.call('SendMessage', { to: 'scanner', message: 'deeper', summary: 'go deeper' }));
  expect(sent).toEqual({
    success: true,
    message: 'The agent had ended. It starts again with the message. Read its report with TaskOutput.',
  });
  expect(await read(id)).toContain('<output>\nThree of them are open.\n</output>');
  const endless = idIn(readTexts(await server.call('Agent', ask('endless')))[0] ?? '');
  await server.asked('endless');
  expect(parseStructured(await server.call('TaskStop', { task_id: endless }))).toMatchObject({
    task_id: endless,
    task_type: 'local_agent',
  });
  expect((await server.findRun('endless')).outcome?.status).toBe('cancelled');
});

it('errors name the parameter; failures keep the partial report', async () => {
  const far = [{ text: 'I begin.', calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'as far as I came' }];
  await using server = await startDialectServer('claude', { answers: { far }, args: ['--max-turns', '1'] });
  const exhausted = await server.call('Agent', ask('far', blocking));
  expect([exhausted.isError, readOnlyText(exhausted)]).toEqual([
    true,
    expect.stringMatching(/^The agent failed: .*turn.*\nas far as I came\nagentId: /),
  ]);
  const refused: [string, object, RegExp][] = [
    [
      'Agent',
      ask('x', { subagent_type: 'wizard' }),
      /^subagent_type: there is no agent type "wizard"; available: general-purpose, Explore, Plan/,
    ],
    ['Agent', ask('x', { effort: 'minimal' }), /effort/],
    ['Agent', ask('x', { isolation: 'remote' }), /isolation/],
    ['Agent', { prompt: 'x' }, /description/],
    ['TaskOutput', { task_id: 'nope' }, /^No agent has the id or name "nope"$/],
    ['TaskStop', { task_id: 'nope' }, /^No agent has the id or name "nope"$/],
    ['SendMessage', { to: 'nope', message: 'x' }, /"success":false/],
  ];
  for (const [name, args, said] of refused) {
    const result = await server.call(name, args);
    expect([name, result.isError, readTexts(result)[0]]).toEqual([name, true, expect.stringMatching(said)]);
  }
});

it('a client that closes ends its agents', async () => {
  await using server = await startDialectServer('claude', { answers: { endless: { text: 'x' } }, held: ['endless'] });
  await server.call('Agent', ask('endless'));
  await server.asked('endless');
  const pid = server.pid();
  await server.client.close();
  await waitForExit(pid);
  expect((await server.findRun('endless')).outcome).toMatchObject({ status: 'cancelled', terminated: 'client_gone' });
});
