// Calls that need approval are asked in the editor, below Retinue's own rules; modes only narrow.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as acp from '@agentclientprotocol/sdk';
import { describe, expect, it } from 'vitest';
import { createSetup, type PermissionHandler, type Setup, select, startEditor, toolCalls } from './support.ts';

const { session } = acp.methods.agent;
const write = (path: string) => ({ calls: [{ tool: 'write', args: { path, content: 'hello\n' } }] });

/** Answers each question with the next of these. */
function answers(...given: (acp.RequestPermissionResponse | Error)[]) {
  const asked: acp.RequestPermissionRequest[] = [];
  const permission: PermissionHandler = (params) => {
    const next = given[asked.push(params) - 1] ?? { outcome: { outcome: 'cancelled' } };
    if (next instanceof Error) throw next;
    return next;
  };
  return { asked, permission };
}

async function start(setup: Setup, permission: PermissionHandler, args: string[] = []) {
  const editor = await startEditor(setup, { permission, args });
  const { sessionId } = await editor.newSession();
  await editor.agent.request(session.setMode, { sessionId, modeId: 'ask' });
  return { editor, sessionId };
}

describe('a question', () => {
  it('shows the call with its diff and the rule, and an approval executes it', async () => {
    await using setup = await createSetup([write('a.txt'), { text: 'Done.' }]);
    const { asked, permission } = answers(select('allow'));
    const { editor, sessionId } = await start(setup, permission);
    await using _ = editor;
    await editor.prompt(sessionId, 'Write it');
    expect(asked).toHaveLength(1);
    const path = join(setup.folder, 'a.txt');
    const { toolCall, options } = asked[0] as acp.RequestPermissionRequest;
    expect(toolCall).toMatchObject({ title: 'write a.txt', kind: 'edit', status: 'pending', locations: [{ path }] });
    expect(toolCall.content).toContainEqual({ type: 'diff', path, oldText: null, newText: 'hello\n' });
    expect(JSON.stringify(toolCall.content)).toContain('ask write');
    expect(options.map(({ kind }) => kind)).toEqual(['allow_once', 'allow_always', 'reject_once']);
    const [call] = toolCalls(editor.updates);
    expect(call).toMatchObject({ toolCallId: toolCall.toolCallId, status: 'completed' });
    const statuses = editor.updates.flatMap((update) => ('status' in update ? [update.status] : []));
    expect(statuses).toEqual(['pending', 'in_progress', 'completed']);
    expect(readFileSync(path, 'utf8')).toBe('hello\n');
  });

  it('is a refusal if the user refuses, if the answer is unknown, and if the editor fails', async () => {
    await using setup = await createSetup([write('a.txt'), write('b.txt'), write('c.txt'), { text: 'Nothing was allowed.' }]);
    const { asked, permission } = answers(select('refuse'), select('nonsense'), new Error('no dialog'));
    const { editor, sessionId } = await start(setup, permission);
    await using _ = editor;
    expect(await editor.prompt(sessionId, 'Write them')).toMatchObject({ stopReason: 'end_turn' });
    expect(asked).toHaveLength(3);
    expect(toolCalls(editor.updates).map(({ status }) => status)).toEqual(['failed', 'failed', 'failed']);
    expect(['a.txt', 'b.txt', 'c.txt'].filter((name) => existsSync(join(setup.folder, name)))).toEqual([]);
    const texts = setup.provider.requests.map(({ body }) => JSON.stringify(body.messages));
    expect(texts[1]).toContain('refused by the user');
    expect(texts[3]).toContain('the approval request failed');
  });

  it('is not asked again for the same call after “always”, until the prompt ends', async () => {
    await using setup = await createSetup([write('a.txt'), write('a.txt'), { text: 'Done.' }, write('a.txt'), { text: 'Done.' }]);
    const { asked, permission } = answers(select('always'), select('allow'));
    const { editor, sessionId } = await start(setup, permission);
    await using _ = editor;
    await editor.prompt(sessionId, 'Write it twice');
    expect(asked).toHaveLength(1);
    await editor.prompt(sessionId, 'Once more');
    expect(asked).toHaveLength(2);
  });

  it('is never asked if a rule denies the call', async () => {
    await using setup = await createSetup([write('a.txt'), { text: 'It was denied.' }]);
    const { asked, permission } = answers(select('allow'));
    const { editor, sessionId } = await start(setup, permission, ['--deny', 'write']);
    await using _ = editor;
    await editor.prompt(sessionId, 'Write it');
    expect(asked).toEqual([]);
    expect(existsSync(join(setup.folder, 'a.txt'))).toBe(false);
  });

  it('of a child shows the call of the child', async () => {
    const tasks = [{ task: 'write the file', label: 'writer' }];
    await using setup = await createSetup(({ body }) => {
      const text = JSON.stringify(body.messages);
      const isDone = text.includes('tool_result');
      if (text.includes('Delegate it')) return isDone ? { text: 'Done.' } : { calls: [{ tool: 'delegate', args: { tasks } }] };
      return isDone ? { text: 'written' } : write('a.txt');
    });
    const { asked, permission } = answers(select('allow'));
    const { editor, sessionId } = await start(setup, permission);
    await using _ = editor;
    await editor.prompt(sessionId, 'Delegate it');
    expect(asked[0]?.toolCall.title).toBe('write a.txt');
    expect(toolCalls(editor.updates).map(({ title, status }) => [title, status])).toEqual([
      [expect.stringMatching(/^delegate/), 'completed'],
      ['general: writer', 'completed'],
      ['write a.txt', 'completed'],
    ]);
  });

  it('is withdrawn when the prompt is cancelled, and when somebody else answers it', async () => {
    await using setup = await createSetup([write('a.txt'), { text: 'Done.' }, write('b.txt'), { text: 'Done.' }]);
    const open: { asked: PromiseWithResolvers<void>; withdrawn: PromiseWithResolvers<void> }[] = [1, 2].map(() => ({
      asked: Promise.withResolvers<void>(),
      withdrawn: Promise.withResolvers<void>(),
    }));
    let n = 0;
    const { editor, sessionId } = await start(setup, (_, signal) => {
      const current = open[n++];
      current?.asked.resolve();
      return new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          current?.withdrawn.resolve();
          reject(new Error('withdrawn'));
        }),
      );
    });
    await using _ = editor;
    const first = editor.prompt(sessionId, 'Write a');
    await open[0]?.asked.promise;
    const id = (await setup.facts((facts) => facts.some(({ type }) => type === 'approval.asked')))[0]?.runId as string;
    expect(await setup.run('approve', id)).toMatchObject({ code: 0 });
    await open[0]?.withdrawn.promise;
    expect(await first).toMatchObject({ stopReason: 'end_turn' });
    expect(existsSync(join(setup.folder, 'a.txt'))).toBe(true);
    const second = editor.prompt(sessionId, 'Write b');
    await open[1]?.asked.promise;
    await editor.agent.notify(session.cancel, { sessionId });
    await open[1]?.withdrawn.promise;
    expect(await second).toMatchObject({ stopReason: 'cancelled' });
    expect(existsSync(join(setup.folder, 'b.txt'))).toBe(false);
  });
});

describe('a mode', () => {
  it('narrows the next prompts, and a wider one gives back only what is configured', async () => {
    await using setup = await createSetup([write('a.txt'), { text: 'No.' }, write('b.txt'), { text: 'Yes.' }]);
    await using editor = await startEditor(setup);
    const { sessionId } = await editor.newSession();
    const setMode = (modeId: string) => editor.agent.request(session.setMode, { sessionId, modeId });
    await setMode('read-only');
    await editor.prompt(sessionId, 'Write a');
    expect(existsSync(join(setup.folder, 'a.txt'))).toBe(false);
    const tools = JSON.stringify(setup.provider.requests[0]?.body.tools);
    expect([tools.includes('"read"'), tools.includes('"write"'), tools.includes('"bash"')]).toEqual([true, false, false]);
    await setMode('default');
    await editor.prompt(sessionId, 'Write b');
    expect(existsSync(join(setup.folder, 'b.txt'))).toBe(true);
    await expect(setMode('yolo')).rejects.toMatchObject({ code: -32602, message: expect.stringContaining('read-only') });
  });

  it('and a model can be chosen as options, which a loaded session keeps', async () => {
    await using setup = await createSetup([{ text: 'Hello.' }, { text: 'Hello again.' }]);
    setup.env.OPENAI_API_KEY = 'any';
    const values = (options: acp.SessionConfigOption[] | null | undefined) =>
      options?.map((option) => [option.id, option.currentValue, 'options' in option ? option.options.length : 0]);
    let sessionId: string;
    {
      await using editor = await startEditor(setup);
      const created = await editor.newSession();
      ({ sessionId } = created);
      const [, models] = values(created.configOptions) ?? [];
      expect(models).toEqual(['model', 'anthropic/claude-sonnet-4-5', 3]);
      const set = (configId: string, value: string) => editor.agent.request(session.setConfigOption, { sessionId, configId, value });
      await set('mode', 'read-only');
      expect(editor.updates).toContainEqual({ sessionId, sessionUpdate: 'current_mode_update', currentModeId: 'read-only' });
      expect(values((await set('model', 'anthropic/claude-sonnet-5')).configOptions)).toEqual([
        ['mode', 'read-only', 4],
        ['model', 'anthropic/claude-sonnet-5', 3],
      ]);
      await expect(set('model', 'anthropic/other')).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining('not offered'),
      });
      await expect(set('colour', 'red')).rejects.toMatchObject({ code: -32602 });
      await editor.prompt(sessionId, 'Hi');
      expect(setup.provider.requests[0]?.model).toBe('claude-sonnet-5');
    }
    await using editor = await startEditor(setup);
    const loaded = await editor.agent.request(session.load, { sessionId, cwd: setup.folder, mcpServers: [] });
    expect(values(loaded.configOptions)).toEqual([
      ['mode', 'read-only', 4],
      ['model', 'anthropic/claude-sonnet-5', 3],
    ]);
    await editor.prompt(sessionId, 'Hi again');
    expect(setup.provider.requests[1]?.model).toBe('claude-sonnet-5');
  });

  it('narrows a running run at once', async () => {
    const asked = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    await using setup = await createSetup(async ({ n }) => {
      if (n > 1) return { text: 'It was denied.' };
      asked.resolve();
      await released.promise;
      return write('a.txt');
    });
    await using editor = await startEditor(setup);
    const { sessionId } = await editor.newSession();
    const prompt = editor.prompt(sessionId, 'Write a');
    await asked.promise;
    await editor.agent.request(session.setMode, { sessionId, modeId: 'read-only' });
    released.resolve();
    expect(await prompt).toMatchObject({ stopReason: 'end_turn' });
    expect(existsSync(join(setup.folder, 'a.txt'))).toBe(false);
  });

  it('`plan` uses the agent that plans, whose list becomes the plan', async () => {
    const items = [
      { text: 'Read it', status: 'done' },
      { text: 'Change it', status: 'in_progress' },
      { text: 'Test it', status: 'pending' },
    ];
    await using setup = await createSetup([{ calls: [{ tool: 'todo', args: { items } }] }, { text: 'The plan.' }]);
    await using editor = await startEditor(setup);
    const { sessionId } = await editor.newSession();
    await editor.agent.request(session.setMode, { sessionId, modeId: 'plan' });
    await editor.prompt(sessionId, 'Plan it');
    const plan = editor.updates.find((update) => update.sessionUpdate === 'plan');
    expect(plan?.entries.map(({ content, status }) => [content, status])).toEqual([
      ['Read it', 'completed'],
      ['Change it', 'in_progress'],
      ['Test it', 'pending'],
    ]);
  });
});
