// Prompts of the official SDK's client to the real program: text, tool calls, edits, delegation, resources.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as acp from '@agentclientprotocol/sdk';
import { describe, expect, it } from 'vitest';
import { createSetup, startEditor, textOf, toolCalls } from './support.ts';

describe('initialize', () => {
  it('offers what the agent can do, in version 1, whatever version the client asks for', async () => {
    await using setup = await createSetup([]);
    await using editor = await startEditor(setup);
    expect(editor.initialized).toMatchObject({
      protocolVersion: 1,
      agentInfo: { name: 'retinue', version: expect.stringMatching(/^\d/) },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, audio: false, embeddedContext: true },
        mcpCapabilities: { http: true, sse: true },
        sessionCapabilities: { list: {}, resume: {}, close: {} },
      },
      authMethods: [],
    });
    expect(await editor.agent.request(acp.methods.agent.initialize, { protocolVersion: 7 })).toMatchObject({ protocolVersion: 1 });
  });
});

describe('a prompt', () => {
  it('streams thoughts and text in pieces, and ends with the turn', async () => {
    const text = 'Everything is fine here. '.repeat(8);
    await using setup = await createSetup([{ reasoning: 'I think about it.', signature: 's', text, usage: { input: 1200, output: 34 } }]);
    await using editor = await startEditor(setup);
    const { sessionId, modes } = await editor.newSession();
    expect(modes?.currentModeId).toBe('default');
    const response = await editor.prompt(sessionId, 'How is it?');
    expect(response).toMatchObject({
      stopReason: 'end_turn',
      _meta: { retinue: { status: 'completed', tokens: { input: 1200, output: 34 } } },
    });
    expect(textOf(editor.updates, 'agent_message_chunk')).toBe(text);
    expect(textOf(editor.updates, 'agent_thought_chunk')).toBe('I think about it.');
    expect(editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'agent_message_chunk').length).toBeGreaterThan(1);
    expect(editor.updates.at(-1)).toMatchObject({
      sessionUpdate: 'usage_update',
      used: 1234,
      size: expect.any(Number),
      cost: { amount: expect.any(Number), currency: 'USD' },
    });
    expect(editor.updates).toContainEqual(expect.objectContaining({ sessionUpdate: 'session_info_update', title: 'How is it?' }));
    expect(editor.updates.every((update) => update.sessionId === sessionId)).toBe(true);
  });

  it('shows tool calls with kind, files, status and the diff of an edit', async () => {
    const calls = [
      { tool: 'read', args: { path: 'a.txt', offset: 2 } },
      { tool: 'edit', args: { path: 'a.txt', old: 'two', new: 'zwei' } },
      { tool: 'write', args: { path: 'new.txt', content: 'hello\n' } },
      { tool: 'read', args: { path: 'missing.txt' } },
    ];
    await using setup = await createSetup([...calls.map((call) => ({ calls: [call] })), { text: 'Done.' }], {
      'a.txt': 'one\ntwo\nthree\n',
    });
    await using editor = await startEditor(setup);
    const { sessionId } = await editor.newSession();
    await editor.prompt(sessionId, 'Change it');
    const shown = toolCalls(editor.updates);
    const file = join(setup.folder, 'a.txt');
    expect(shown.map(({ name, kind, status, title }) => [name, kind, status, title])).toEqual([
      ['read', 'read', 'completed', 'read a.txt'],
      ['edit', 'edit', 'completed', 'edit a.txt'],
      ['write', 'edit', 'completed', 'write new.txt'],
      ['read', 'read', 'failed', 'read missing.txt'],
    ]);
    expect(shown[0]).toMatchObject({ locations: [{ path: file, line: 2 }], rawInput: calls[0]?.args });
    expect(shown[1]?.content).toContainEqual({
      type: 'diff',
      path: file,
      oldText: 'one\ntwo\nthree\n',
      newText: 'one\nzwei\nthree\n',
    });
    expect(shown[2]?.content).toContainEqual({ type: 'diff', path: join(setup.folder, 'new.txt'), oldText: null, newText: 'hello\n' });
    expect(readFileSync(file, 'utf8')).toBe('one\nzwei\nthree\n');
  });

  it('continues the conversation of the prompt before', async () => {
    await using setup = await createSetup([{ text: 'First answer.' }, { text: 'Second answer.' }]);
    await using editor = await startEditor(setup);
    const { sessionId } = await editor.newSession();
    await editor.prompt(sessionId, 'First question');
    await editor.prompt(sessionId, 'Second question');
    const sent = JSON.stringify(setup.provider.requests[1]?.body.messages);
    for (const part of ['First question', 'First answer.', 'Second question']) expect(sent).toContain(part);
  });

  it('takes links and embedded resources, and refuses audio by name', async () => {
    await using setup = await createSetup([{ text: 'Seen.' }], { 'src/a.ts': '' });
    await using editor = await startEditor(setup);
    const { sessionId } = await editor.newSession();
    const uri = `file://${setup.folder}/src/a.ts`;
    const prompt = (blocks: acp.ContentBlock[]) => editor.agent.request(acp.methods.agent.session.prompt, { sessionId, prompt: blocks });
    await expect(prompt([{ type: 'audio', data: 'aGk=', mimeType: 'audio/wav' }])).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('audio'),
    });
    await prompt([
      { type: 'text', text: 'Compare ' },
      { type: 'resource_link', uri, name: 'a.ts' },
      { type: 'text', text: ' with ' },
      { type: 'resource', resource: { uri: `${uri}#L1:2`, text: 'unsaved text\n```\n# not a heading', mimeType: 'text/plain' } },
      { type: 'resource', resource: { uri: 'memo:1', blob: Buffer.from('as bytes').toString('base64') } },
    ]);
    const [request] = setup.provider.requests;
    const text = JSON.stringify(request?.body.messages);
    expect(text).toContain('Compare [a.ts](src/a.ts) with [src/a.ts#L1:2]');
    expect(text).toContain('## src/a.ts#L1:2\\n````\\nunsaved text');
    expect(text).toContain('## memo:1\\n```\\nas bytes\\n```');
  });

  it('passes images to the model in every request, also of later prompts, and refuses what is none', async () => {
    const data = Buffer.from('the bytes of an image').toString('base64');
    await using setup = await createSetup([
      { calls: [{ tool: 'list', args: { path: '.' } }] },
      { text: 'A cat.' },
      { text: 'Still a cat.' },
    ]);
    await using editor = await startEditor(setup);
    const { sessionId } = await editor.newSession();
    const send = (mimeType: string, bytes: string) =>
      editor.agent.request(acp.methods.agent.session.prompt, {
        sessionId,
        prompt: [
          { type: 'text', text: 'What is ' },
          { type: 'image', data: bytes, mimeType },
        ],
      });
    await expect(send('image/svg+xml', data)).rejects.toMatchObject({ code: -32602, message: expect.stringContaining('image/svg+xml') });
    await expect(send('image/png', 'not base64')).rejects.toMatchObject({ code: -32602 });
    expect(await send('image/png', data)).toMatchObject({ stopReason: 'end_turn' });
    await editor.prompt(sessionId, 'And now?');
    expect(textOf(editor.updates, 'agent_message_chunk')).toBe('A cat.Still a cat.');
    const source = { type: 'base64', media_type: 'image/png', data };
    expect(setup.provider.requests).toHaveLength(3);
    for (const { body } of setup.provider.requests) {
      const [first] = body.messages as { role: string; content: object[] }[];
      expect(first).toMatchObject({
        role: 'user',
        content: [
          { type: 'image', source },
          { type: 'text', text: 'What is [image 1]' },
        ],
      });
    }
  });

  it('gives a long text to the agent as a file', async () => {
    await using setup = await createSetup([{ text: 'Read it.' }]);
    await using editor = await startEditor(setup);
    const { sessionId } = await editor.newSession();
    await editor.prompt(sessionId, `${'a long line\n'.repeat(9000)}the end`);
    const text = JSON.stringify(setup.provider.requests[0]?.body.messages);
    expect(text).toContain('Do what the attached file prompt.txt says.');
    expect(text).toMatch(/\.retinue-files\/[0-9a-f]+\/prompt\.txt/);
  });

  it('shows delegated runs as tool calls with progress and as the plan', async () => {
    const briefs = ['alpha', 'beta'].map((name) => ({ task: `look at ${name}`, agent: 'explore', label: name }));
    await using setup = await createSetup(
      ({ body }) => {
        const text = JSON.stringify(body.messages);
        if (!text.includes('Split the work')) {
          if (!text.includes('tool_result')) return { calls: [{ tool: 'read', args: { path: 'a.txt' } }] };
          return { text: text.includes('alpha') ? 'alpha is fine' : 'beta is fine' };
        }
        return text.includes('tool_result') ? { text: 'All done.' } : { calls: [{ tool: 'delegate', args: { tasks: briefs } }] };
      },
      { 'a.txt': 'content' },
    );
    await using editor = await startEditor(setup);
    const { sessionId } = await editor.newSession();
    expect(await editor.prompt(sessionId, 'Split the work')).toMatchObject({ stopReason: 'end_turn' });
    const shown = toolCalls(editor.updates);
    expect(shown.map(({ title, status }) => [title, status])).toEqual([
      ['delegate ×2', 'completed'],
      ['explore: alpha', 'completed'],
      ['explore: beta', 'completed'],
    ]);
    expect(JSON.stringify(shown[1]?.content)).toContain('alpha is fine');
    const progress = editor.updates.filter((update) => update.sessionUpdate === 'tool_call_update' && update.status === undefined);
    expect(JSON.stringify(progress)).toContain('read a.txt');
    const plans = editor.updates.filter((update) => update.sessionUpdate === 'plan');
    expect(plans.at(-1)).toMatchObject({
      entries: [
        { content: 'explore: alpha', status: 'completed' },
        { content: 'explore: beta', status: 'completed' },
      ],
    });
    expect(textOf(editor.updates, 'agent_message_chunk')).toBe('All done.');
  });

  it('ends with the reason of the limit, or with the error of the provider', async () => {
    const read = { calls: [{ tool: 'list', args: { path: '.' } }] };
    await using setup = await createSetup([
      read,
      { text: 'so far' },
      { fault: { kind: 'status', status: 401, message: 'the key is wrong' } },
      { text: 'cannot say', finish: 'content-filter' },
    ]);
    await using editor = await startEditor(setup, { args: ['--max-turns', '1'] });
    const { sessionId } = await editor.newSession();
    expect(await editor.prompt(sessionId, 'one')).toMatchObject({ stopReason: 'max_turn_requests' });
    await expect(editor.prompt(sessionId, 'two')).rejects.toMatchObject({ code: -32603, data: { code: 'auth', status: 'failed' } });
    expect(await editor.prompt(sessionId, 'three')).toMatchObject({ stopReason: 'refusal' });
  });

  it('steers a run that has started, and shows messages from elsewhere', async () => {
    const released = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    await using setup = await createSetup(async ({ n }) => {
      if (n > 1) return { text: 'Both are done.' };
      asked.resolve();
      await released.promise;
      return { calls: [{ tool: 'list', args: { path: '.' } }] };
    });
    await using editor = await startEditor(setup);
    const { sessionId } = await editor.newSession();
    const first = editor.prompt(sessionId, 'First wish');
    await asked.promise;
    const second = editor.prompt(sessionId, 'Second wish');
    const [fact] = await setup.facts((facts) => facts.some(({ type }) => type === 'message.received'));
    expect(await setup.run('message', fact?.runId as string, 'A wish from a terminal')).toMatchObject({ code: 0 });
    released.resolve();
    expect(await Promise.all([first, second])).toMatchObject([{ stopReason: 'end_turn' }, { stopReason: 'end_turn' }]);
    const sent = JSON.stringify(setup.provider.requests[1]?.body.messages);
    expect([sent.includes('Second wish'), sent.includes('A wish from a terminal')]).toEqual([true, true]);
    expect(textOf(editor.updates, 'user_message_chunk')).toBe('A wish from a terminal');
    expect(setup.provider.requests).toHaveLength(2);
  });
});
