// Sessions outlive the process: they are listed, loaded with their history, resumed, and continued after an interruption.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import * as acp from '@agentclientprotocol/sdk';
import { describe, expect, it } from 'vitest';
import type { ProviderStep } from '../../src/testing/provider-server.ts';
import { createSetup, type Editor, type Setup, startEditor, textOf, toolCalls, type Update } from './support.ts';

const { session } = acp.methods.agent;

const load = (editor: Editor, setup: Setup, sessionId: string) =>
  editor.agent.request(session.load, { sessionId, cwd: setup.folder, mcpServers: [] });

/** What an editor shows in the end, without the pieces in which text came. */
function conversation(updates: Update[]) {
  return {
    said: textOf(updates, 'agent_message_chunk'),
    thought: textOf(updates, 'agent_thought_chunk'),
    calls: toolCalls(updates).map(({ toolCallId, title, kind, status, content, locations, rawInput }) => ({
      ...{ toolCallId, title, kind, status, content, locations, rawInput },
    })),
    plan: updates.findLast((update) => update.sessionUpdate === 'plan'),
  };
}

describe('session/load', () => {
  it('replays the history of a session in another process as it was shown, and continues it', async () => {
    const briefs = [{ task: 'look at it', agent: 'explore', label: 'child' }];
    await using setup = await createSetup(
      ({ body }) => {
        const text = JSON.stringify(body.messages);
        if (!text.includes('First wish')) return { text: 'the child has looked' };
        const done = (text.match(/tool_result/g) ?? []).length;
        if (text.includes('Third wish')) return { text: 'Third answer.' };
        if (text.includes('Second wish')) return { text: 'Second answer.' };
        const steps = [
          { reasoning: 'First I edit.', signature: 's', calls: [{ tool: 'edit', args: { path: 'a.txt', old: 'one', new: 'two' } }] },
          { calls: [{ tool: 'delegate', args: { tasks: briefs } }] },
          { text: 'First answer.' },
        ];
        return steps[Math.min(done, 2)] as object;
      },
      { 'a.txt': 'one\n' },
    );
    let sessionId: string;
    let live: ReturnType<typeof conversation>;
    {
      await using editor = await startEditor(setup);
      ({ sessionId } = await editor.newSession());
      await editor.prompt(sessionId, 'First wish');
      await editor.prompt(sessionId, 'Second wish');
      live = conversation(editor.updates);
    }
    await using editor = await startEditor(setup);
    expect(await load(editor, setup, sessionId)).toMatchObject({ modes: { currentModeId: 'default' } });
    expect(conversation(editor.updates)).toEqual(live);
    expect(live.calls).toHaveLength(3);
    expect(textOf(editor.updates, 'user_message_chunk')).toBe('First wishSecond wish');
    const order = editor.updates.map(({ sessionUpdate }) => sessionUpdate);
    expect(order.indexOf('user_message_chunk')).toBe(0);
    await editor.prompt(sessionId, 'Third wish');
    const sent = JSON.stringify(setup.provider.requests.at(-1)?.body.messages);
    for (const part of ['First wish', 'First answer.', 'Second answer.', 'Third wish']) expect(sent).toContain(part);
  });

  it('replays a long history to a client that reads slowly', async () => {
    const turns = 60;
    await using setup = await createSetup(
      ({ n }) => (n <= turns ? { calls: [{ tool: 'read', args: { path: 'a.txt', offset: n } }] } : { text: 'Read.' }),
      { 'a.txt': 'a long line of a file\n'.repeat(3000) },
    );
    let sessionId: string;
    {
      await using editor = await startEditor(setup, {
        args: ['--max-turns', '100', '--budget-usd', '100', '--budget-tokens', '100000000'],
      });
      ({ sessionId } = await editor.newSession());
      await editor.prompt(sessionId, 'Read it all');
    }
    await using editor = await startEditor(setup);
    editor.child.stdout.pause();
    const loading = load(editor, setup, sessionId);
    // The history is larger than the pipe.
    setTimeout(() => editor.child.stdout.resume(), 300);
    await loading;
    expect(toolCalls(editor.updates).filter(({ status }) => status === 'completed')).toHaveLength(turns);
    expect(editor.stderr()).toBe('');
  });

  it('refuses an unknown session, and one of another folder', async () => {
    await using setup = await createSetup([{ text: 'Hello.' }]);
    await using editor = await startEditor(setup);
    const { sessionId } = await editor.newSession();
    await expect(load(editor, setup, 'f'.repeat(32))).rejects.toMatchObject({ code: -32002 });
    await expect(load(editor, setup, '../../etc')).rejects.toMatchObject({ code: -32002 });
    // Nothing was asked yet, so there is nothing to load and no database.
    expect(existsSync(join(setup.folder, '.retinue'))).toBe(false);
    await editor.prompt(sessionId, 'Hi');
    const other = join(setup.home, 'other');
    mkdirSync(other);
    await expect(editor.agent.request(session.load, { sessionId, cwd: other, mcpServers: [] })).rejects.toMatchObject({ code: -32002 });
  });
});

it('session/new says that the agent of the command line does not exist', async () => {
  await using setup = await createSetup([{ text: 'Hello.' }]);
  await using editor = await startEditor(setup, { args: ['--agent', 'explorer'] });
  await expect(editor.newSession()).rejects.toMatchObject({
    message: expect.stringContaining('--agent: unknown agent `explorer`; did you mean `explore`?'),
  });
});

describe('session/resume', () => {
  it('continues a session without its history, in its mode', async () => {
    await using setup = await createSetup([{ text: 'First answer.' }, { text: 'Second answer.' }]);
    let sessionId: string;
    {
      await using editor = await startEditor(setup);
      ({ sessionId } = await editor.newSession());
      await editor.agent.request(session.setMode, { sessionId, modeId: 'read-only' });
      await editor.prompt(sessionId, 'First question');
    }
    await using editor = await startEditor(setup);
    const resumed = await editor.agent.request(session.resume, { sessionId, cwd: setup.folder });
    expect(resumed.modes?.currentModeId).toBe('read-only');
    expect(editor.updates).toEqual([]);
    await editor.prompt(sessionId, 'Second question');
    expect(JSON.stringify(setup.provider.requests[1]?.body.messages)).toContain('First answer.');
  });

  it('continues a prompt that a killed process left open, with the next prompt as a message', async () => {
    let isSecond = false;
    const asked = Promise.withResolvers<void>();
    await using setup = await createSetup(
      async ({ n, body }) => {
        if (n === 1) return { calls: [{ tool: 'read', args: { path: 'a.txt' } }] };
        // The call that was cut off is repeated first, and then the message is read.
        if (isSecond) return { text: JSON.stringify(body.messages).includes('Go on') ? 'Finished now.' : 'Almost. ' };
        asked.resolve();
        return { fault: { kind: 'no-first-byte' } };
      },
      { 'a.txt': 'content' },
    );
    let sessionId: string;
    {
      await using editor = await startEditor(setup);
      ({ sessionId } = await editor.newSession());
      void editor.prompt(sessionId, 'A long task').catch(() => {});
      await asked.promise;
      editor.child.kill('SIGKILL');
      await editor.exited;
    }
    isSecond = true;
    await using editor = await startEditor(setup, { capabilities: { session: { notices: {} } } });
    await load(editor, setup, sessionId);
    expect(editor.updates.at(-1)).toMatchObject({ sessionUpdate: 'notice', title: expect.stringContaining('interrupted') });
    expect(await editor.prompt(sessionId, 'Go on')).toMatchObject({ stopReason: 'end_turn' });
    const sent = JSON.stringify(setup.provider.requests.at(-1)?.body.messages);
    for (const part of ['A long task', 'content', 'Go on']) expect(sent).toContain(part);
    expect(textOf(editor.updates, 'agent_message_chunk')).toMatch(/^(Almost\. )?Finished now\.$/);
    // The same tree: one root.
    const facts = await setup.facts((all) => all.some(({ type }) => type === 'run.ended'));
    expect(facts.filter(({ type }) => type === 'run.created')).toHaveLength(1);
  });
});

describe('an interrupted session', () => {
  it('whose run another process has finished after it was loaded continues that run', async () => {
    let isSecond = false;
    const asked = Promise.withResolvers<void>();
    await using setup = await createSetup(({ body }): ProviderStep => {
      const text = JSON.stringify(body.messages);
      if (text.includes('And then?')) return { text: 'Then this.' };
      asked.resolve();
      return isSecond ? { text: 'Finished elsewhere.' } : { fault: { kind: 'no-first-byte' } };
    });
    let sessionId: string;
    {
      await using editor = await startEditor(setup);
      ({ sessionId } = await editor.newSession());
      void editor.prompt(sessionId, 'A long task').catch(() => {});
      await asked.promise;
    }
    isSecond = true;
    await using editor = await startEditor(setup);
    await load(editor, setup, sessionId);
    expect(textOf(editor.updates, 'agent_thought_chunk')).toContain('Your next message continues it.');
    expect(await setup.run('resume')).toMatchObject({ code: 0 });
    expect(await editor.prompt(sessionId, 'And then?')).toMatchObject({ stopReason: 'end_turn' });
    const sent = JSON.stringify(setup.provider.requests.at(-1)?.body.messages);
    for (const part of ['A long task', 'Finished elsewhere.', 'And then?']) expect(sent).toContain(part);
    expect(textOf(editor.updates, 'agent_message_chunk')).toBe('Then this.');
  });
});

describe('session/list', () => {
  it('lists each session once, newest first, of one folder or of all', async () => {
    await using setup = await createSetup(() => ({ text: 'Hello.' }));
    const other = join(setup.home, 'other');
    mkdirSync(other);
    await using editor = await startEditor(setup);
    const list = async (params: acp.ListSessionsRequest) =>
      (await editor.agent.request(session.list, params)).sessions.map(({ sessionId, title, cwd }) => [sessionId, title, cwd]);
    expect(await list({ cwd: setup.folder })).toEqual([]);
    const first = (await editor.newSession()).sessionId;
    const second = (await editor.newSession()).sessionId;
    const third = (await editor.newSession({ cwd: other })).sessionId;
    await editor.prompt(first, 'The first\nwith more lines');
    await editor.prompt(second, 'The second');
    await editor.prompt(first, 'Another prompt of the first');
    await editor.prompt(third, 'The third');
    const here = [
      [first, 'The first', setup.folder],
      [second, 'The second', setup.folder],
    ];
    expect(await list({ cwd: setup.folder })).toEqual(here);
    expect(await list({ cwd: other })).toEqual([[third, 'The third', other]]);
    expect(await list({})).toEqual(expect.arrayContaining([...here, [third, 'The third', other]]));
    await expect(editor.agent.request(session.list, { cursor: 'nonsense' })).rejects.toMatchObject({ code: -32602 });
  });
});

describe('several sessions', () => {
  it('work at the same time in one process, and one of them can be closed', async () => {
    const gates = { alpha: Promise.withResolvers<void>(), beta: Promise.withResolvers<void>() };
    const both = Promise.withResolvers<void>();
    let open = 0;
    await using setup = await createSetup(async ({ body }) => {
      const name = JSON.stringify(body.messages).includes('alpha') ? 'alpha' : 'beta';
      if (++open === 2) both.resolve();
      await gates[name].promise;
      return { text: `This is ${name}.` };
    });
    await using editor = await startEditor(setup);
    const [a, b] = [await editor.newSession(), await editor.newSession()];
    const alpha = editor.prompt(a.sessionId, 'alpha');
    const beta = editor.prompt(b.sessionId, 'beta');
    await both.promise;
    gates.beta.resolve();
    expect(await beta).toMatchObject({ stopReason: 'end_turn' });
    const closed = editor.agent.request(session.close, { sessionId: a.sessionId });
    expect(await alpha).toMatchObject({ stopReason: 'cancelled' });
    gates.alpha.resolve();
    await closed;
    await expect(editor.prompt(a.sessionId, 'again')).rejects.toMatchObject({ code: -32002 });
    const textsOf = (id: string) =>
      textOf(
        editor.updates.filter(({ sessionId }) => sessionId === id),
        'agent_message_chunk',
      );
    expect([textsOf(a.sessionId), textsOf(b.sessionId)]).toEqual(['', 'This is beta.']);
  });

  it('refuses to add to a session that another process has continued', async () => {
    await using setup = await createSetup(() => ({ text: 'Hello.' }));
    await using one = await startEditor(setup);
    await using two = await startEditor(setup);
    const { sessionId } = await one.newSession();
    await one.prompt(sessionId, 'First');
    await load(two, setup, sessionId);
    await two.prompt(sessionId, 'Second');
    await expect(one.prompt(sessionId, 'Also second')).rejects.toMatchObject({ message: expect.stringContaining('load it again') });
    await load(one, setup, sessionId);
    expect(await one.prompt(sessionId, 'Third')).toMatchObject({ stopReason: 'end_turn' });
  });
});
