// Dialects in the library: `createRetinue({ dialect })` and the tools of a scope.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { MockLanguageModelV4 } from 'ai/test';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { StoredFact } from '../../src/contract/fact.ts';
import { claude, codex, defineDialect, dex, ralph, rx, xzatoma } from '../../src/main/dialects.ts';
import { createRetinue } from '../../src/main/index.ts';
import { scriptedModel } from '../../src/main/testing.ts';

const answer = (text: string) => scriptedModel({ runs: [{ times: 'any', steps: [{ text }] }] });

describe('scope.tools() of a dialect', () => {
  it('rx: one blocking call, and its result is plain JSON', async () => {
    await using retinue = createRetinue({ model: answer('seen'), dialect: rx() });
    await using scope = retinue.scope();
    const tools = scope.tools();
    expect(Object.keys(tools)).toEqual(['subagent']);
    const output = (await tools.subagent?.execute({ task: 'look' })) ?? '';
    expect(output).toMatch(/^\{"success":true,"summary":"seen","artifacts":\[\],"duration_ms":\d+\}$/);
  });

  it('rx: invalid input is answered in the same shape, and every call is in the facts of the scope’s run', async () => {
    await using retinue = createRetinue({ model: answer('seen'), dialect: rx() });
    await using scope = retinue.scope();
    const { subagent } = scope.tools();
    const invalid = JSON.parse((await subagent?.execute({ tsk: 'look' })) ?? '');
    expect(invalid).toEqual({
      success: false,
      summary: '',
      artifacts: [],
      error: expect.stringMatching(/^validation: task \(/),
      duration_ms: 0,
    });
    const output = await subagent?.execute({ task: 'look' });
    const client = (await retinue.api.ps({ all: true })).find(({ kind }) => kind === 'client');
    const facts = (await retinue.api.logs(client?.runId ?? '')) as StoredFact[];
    const calls = facts.flatMap((fact) => (fact.type === 'tool.asked' ? [[fact.data.rejected, fact.data.arguments]] : []));
    expect(calls).toEqual([
      ['malformed', { tsk: 'look' }],
      [null, { task: 'look' }],
    ]);
    expect(facts.flatMap((fact) => (fact.type === 'tool.finished' ? [fact.data.output] : []))).toEqual([JSON.stringify(invalid), output]);
  });

  it('ralph: spawns a run and waits for it', async () => {
    await using retinue = createRetinue({ model: answer('seen'), dialect: ralph() });
    await using scope = retinue.scope();
    const tools = scope.tools();
    const { subagent_id } = JSON.parse((await tools.subagent?.execute({ task: 'look' })) ?? '');
    expect(await tools.subagent_status?.execute({ subagent_id, wait: true })).toContain(
      '"status":"completed","progress":null,"result":"seen"',
    );
  });

  it('gives whole reports up to the configured or the scope’s own size', async () => {
    const long = 'x'.repeat(40_000);
    const count = (text = '') => (text.match(/x/g) ?? []).length;
    await using configured = createRetinue({ model: answer(long), limits: { maxOutputBytes: 50_000 } });
    await using one = configured.scope();
    expect(count(await one.tools().delegate?.execute({ tasks: [{ task: 'long' }] }))).toBe(40_000);
    await using plain = createRetinue({ model: answer(long) });
    await using two = plain.scope({ limits: { maxOutputBytes: 50_000 } });
    expect(count(await two.tools().delegate?.execute({ tasks: [{ task: 'long' }] }))).toBe(40_000);
    await using three = plain.scope({ limits: { maxOutputBytes: 1000 } });
    const shown = (await three.tools().delegate?.execute({ tasks: [{ task: 'long' }] })) ?? '';
    expect([count(shown), shown]).toEqual([1000, expect.stringContaining('Shown: 1000 of 40000 bytes.')]);
  });

  it('xzatoma: JSON stays JSON when the scope accepts less than the result', async () => {
    const model = scriptedModel({ runs: [{ steps: [{ text: 'looked' }, { text: 'x'.repeat(9000) }] }] });
    await using retinue = createRetinue({ model, dialect: xzatoma() });
    await using scope = retinue.scope({ limits: { maxOutputBytes: 1000 } });
    const output = (await scope.tools().subagent?.execute({ label: 'l', task_prompt: 'p' })) ?? '';
    expect(Buffer.byteLength(output)).toBeLessThanOrEqual(1000);
    expect(JSON.parse(output)).toMatchObject({ success: true, output: expect.stringMatching(/\[truncated: kept \d+ of 9000 bytes\]$/) });
  });

  it('codex: an agent is waited for, gets more input, and keeps its id', async () => {
    await using retinue = createRetinue({ model: answer('seen'), dialect: codex({ max_threads: 2 }) });
    await using scope = retinue.scope();
    const tools = scope.tools();
    expect(Object.keys(tools)).toEqual(['spawn_agent', 'send_input', 'resume_agent', 'wait_agent', 'close_agent']);
    const { agent_id } = JSON.parse((await tools.spawn_agent?.execute({ message: 'look' })) ?? '');
    const done = { status: { [agent_id]: { completed: 'seen' } }, timed_out: false };
    expect(JSON.parse((await tools.wait_agent?.execute({ targets: [agent_id] })) ?? '')).toEqual(done);
    const { submission_id } = JSON.parse((await tools.send_input?.execute({ target: agent_id, message: 'more' })) ?? '');
    expect(submission_id).not.toBe(agent_id);
    expect(JSON.parse((await tools.wait_agent?.execute({ targets: [agent_id] })) ?? '')).toEqual(done);
    expect((await retinue.api.ps({ all: true })).filter(({ kind }) => kind === 'agent')).toHaveLength(2);
    expect(await tools.wait_agent?.execute({ targets: [] })).toBe('targets: name at least one agent');
  });

  it('claude: in the foreground the report, in the background the id, and TaskOutput', async () => {
    await using retinue = createRetinue({ model: answer('seen'), dialect: claude() });
    await using scope = retinue.scope();
    const tools = scope.tools();
    expect(Object.keys(tools)).toEqual(['Agent', 'Task', 'TaskOutput', 'TaskStop', 'SendMessage', 'delegate_apply']);
    const input = { description: 'look', prompt: 'look' };
    expect(await tools.Task?.execute({ ...input, run_in_background: false })).toMatch(/seen[\s\S]*\nagentId: [0-9a-f]{16} /);
    const launched = (await tools.Agent?.execute({ ...input, name: 'looker' })) ?? '';
    expect(launched).toMatch(/agentId: [0-9a-f]{16} /);
    const read = (await tools.TaskOutput?.execute({ task_id: 'looker' })) ?? '';
    expect(read).toContain('<status>completed</status>');
    expect(read).toContain('seen');
  });

  it('works with a custom dialect', async () => {
    const mine = defineDialect({
      name: 'mine',
      description: 'Mine.',
      tools: [
        {
          name: 'hand_over',
          description: () => 'Hands it over.',
          input: z.strictObject({ what: z.string() }),
          readOnly: false,
          toRequest: ({ what }: { what: string }) => ({ kind: 'delegate', briefs: [{ task: what }], waitMs: null }),
          fromReply: (reply) => ({
            parts:
              reply.kind === 'children'
                ? reply.children.map((child) => ({ text: child.ok ? (child.view.outcome?.summary ?? '') : 'no' }))
                : [],
            isError: false,
          }),
        },
      ],
    });
    await using retinue = createRetinue({ model: answer('handed back'), dialect: mine });
    await using scope = retinue.scope();
    expect(await scope.tools().hand_over?.execute({ what: 'it' })).toBe('handed back');
  });
});

it('a root run uses the dialect’s agent and tools, and its children the program’s model', async () => {
  let calls = 0;
  const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
  const model = new MockLanguageModelV4({
    doStream: async () => {
      const first = calls++ === 0;
      const said = first
        ? [{ type: 'tool-call', toolCallId: 'c', toolName: 'spawn_subagent', input: '{"instructions":"look"}' }]
        : [
            { type: 'text-start', id: 't' },
            { type: 'text-delta', id: 't', delta: `answer ${calls}` },
            { type: 'text-end', id: 't' },
          ];
      const finish = { type: 'finish', finishReason: { unified: first ? 'tool-calls' : 'stop', raw: undefined }, usage };
      return {
        stream: new ReadableStream({
          start(controller) {
            for (const part of [{ type: 'stream-start', warnings: [] }, ...said, finish]) controller.enqueue(part);
            controller.close();
          },
        }),
      } as never;
    },
  });
  await using retinue = createRetinue({ model, dialect: dex() });
  const run = await retinue.delegate({ task: 'work' });
  expect(await run.outcome).toMatchObject({ status: 'completed', agent: 'dex/main', summary: 'answer 3' });
  const { children } = await retinue.api.show(run.id);
  expect(children.map(({ agent, status }) => [agent, status])).toEqual([['dex/explorer', 'completed']]);
});

it('invalid dialect settings are rejected', () => {
  expect(() => xzatoma({ max_depth: 0 })).toThrow(expect.objectContaining({ code: 'invalid_config' }));
});

it('`retinue/dialects` is an entry point of the package', async () => {
  const code = `const d = await import('retinue/dialects'); const { createRetinue } = await import('retinue');
    const { scriptedModel } = await import('retinue/testing');
    const retinue = createRetinue({ model: scriptedModel({ runs: [{ steps: [{ text: 'seen' }] }] }), dialect: d.makeDialect('rx') });
    const scope = retinue.scope(); console.log(await scope.tools().subagent.execute({ task: 'look' })); await scope.close(); await retinue.close();`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code]);
  expect(stdout).toContain('"success":true,"summary":"seen"');
});
