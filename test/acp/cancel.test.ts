// Cancelling answers fast whatever the run does, leaves no process, and keeps the session usable.
import { setTimeout as sleep } from 'node:timers/promises';
import * as acp from '@agentclientprotocol/sdk';
import { describe, expect, it } from 'vitest';
import type { ProviderStep } from '../../src/testing/provider-server.ts';
import { createSetup, findProcesses, startEditor, textOf, toolCalls } from './support.ts';

const { session } = acp.methods.agent;

let count = 0;
const createMarker = () => `600${process.pid}0${++count}`;

describe('session/cancel', () => {
  it('ends a model call that is silent, and the session continues', async () => {
    const asked = Promise.withResolvers<void>();
    await using setup = await createSetup(({ n }): ProviderStep => {
      if (n > 1) return { text: 'Here I am.' };
      asked.resolve();
      return { fault: { kind: 'no-first-byte' } };
    });
    await using editor = await startEditor(setup);
    const { sessionId } = await editor.newSession();
    const prompt = editor.prompt(sessionId, 'Something long');
    await asked.promise;
    await editor.agent.notify(session.cancel, { sessionId });
    expect(await prompt).toMatchObject({ stopReason: 'cancelled' });
    expect(await editor.prompt(sessionId, 'And now?')).toMatchObject({ stopReason: 'end_turn' });
    expect(textOf(editor.updates, 'agent_message_chunk')).toBe('Here I am.');
    const sent = JSON.stringify(setup.provider.requests[1]?.body.messages);
    expect([sent.includes('Something long'), sent.includes('And now?')]).toEqual([true, true]);
  });

  it.runIf(process.platform === 'linux')('does not wait for a command that ignores signals, but the next prompt does', async () => {
    const marker = createMarker();
    const command = `trap '' TERM INT HUP; echo begun; sleep ${marker}; sleep ${marker}`;
    await using setup = await createSetup(({ n }) => (n === 1 ? { calls: [{ tool: 'bash', args: { command } }] } : { text: 'Next.' }));
    await using editor = await startEditor(setup, { args: ['--allow', 'bash'] });
    const { sessionId } = await editor.newSession();
    const prompt = editor.prompt(sessionId, 'Run it');
    while (findProcesses(`sleep\0${marker}`).length === 0) await sleep(10);
    await editor.agent.notify(session.cancel, { sessionId });
    expect(await prompt).toMatchObject({ stopReason: 'cancelled' });
    // What was open was shown as ended before the answer, and nothing comes after it.
    expect(toolCalls(editor.updates).map(({ status }) => status)).toEqual(['failed']);
    const shown = editor.updates.length;
    expect(await editor.prompt(sessionId, 'Next')).toMatchObject({ stopReason: 'end_turn' });
    expect(findProcesses(marker)).toEqual([]);
    const later = editor.updates.slice(shown).filter(({ sessionUpdate }) => sessionUpdate.startsWith('tool'));
    expect(later).toEqual([]);
    const facts = await setup.facts((all) => all.filter(({ type }) => type === 'run.ended').length === 2);
    expect(facts.findIndex(({ type }) => type === 'run.ended')).toBeLessThan(facts.findLastIndex(({ type }) => type === 'run.created'));
  });

  it('answers every prompt of a storm of cancels once', async () => {
    await using setup = await createSetup(() => ({ text: 'A slow answer. '.repeat(20), chunkDelayMs: 5 }));
    await using editor = await startEditor(setup);
    const { sessionId } = await editor.newSession();
    const prompts: Promise<acp.PromptResponse>[] = [];
    for (let round = 0; round < 20; round++) {
      prompts.push(editor.prompt(sessionId, `prompt ${round}`));
      for (let n = 0; n < 50; n++) await editor.agent.notify(session.cancel, { sessionId });
    }
    const reasons = (await Promise.all(prompts)).map(({ stopReason }) => stopReason);
    expect(new Set(reasons)).toEqual(new Set(['cancelled']));
    expect(await editor.prompt(sessionId, 'the last')).toMatchObject({ stopReason: 'end_turn' });
    expect(editor.stderr()).toBe('');
  });

  it('by giving up the request works as well', async () => {
    const asked = Promise.withResolvers<void>();
    await using setup = await createSetup((): ProviderStep => {
      asked.resolve();
      return { fault: { kind: 'no-first-byte' } };
    });
    await using editor = await startEditor(setup);
    const { sessionId } = await editor.newSession();
    const stop = new AbortController();
    const params = { sessionId, prompt: [{ type: 'text' as const, text: 'Something long' }] };
    const prompt = editor.agent.request(session.prompt, params, { cancellationSignal: stop.signal });
    await asked.promise;
    stop.abort();
    await prompt.catch(() => {});
    const facts = await setup.facts((all) => all.some(({ type }) => type === 'run.ended'));
    expect(facts.map(({ type }) => type)).toContain('cancel.asked');
  });

  it('of a session that does nothing changes nothing', async () => {
    await using setup = await createSetup([{ text: 'Hello.' }]);
    await using editor = await startEditor(setup);
    const { sessionId } = await editor.newSession();
    await editor.agent.notify(session.cancel, { sessionId });
    await editor.agent.notify(session.cancel, { sessionId: 'unknown' });
    expect(await editor.prompt(sessionId, 'Hi')).toMatchObject({ stopReason: 'end_turn' });
  });
});
