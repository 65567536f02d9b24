// Whichever way the editor goes away: the process ends in time, nothing is left, and the run can be continued.
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import * as acp from '@agentclientprotocol/sdk';
import { describe, expect, it } from 'vitest';
import { createSetup, findProcesses, startEditor, textOf } from './support.ts';

const ways: [what: string, go: (child: ChildProcess) => void][] = [
  ['its input ends', (child) => void child.stdin?.end()],
  ['SIGTERM', (child) => void child.kill('SIGTERM')],
  ['SIGINT', (child) => void child.kill('SIGINT')],
  ['SIGHUP', (child) => void child.kill('SIGHUP')],
  [
    'nobody reads its output',
    (child) => {
      child.stdout?.destroy();
      child.stdin?.write('{"jsonrpc":"2.0","id":9,"method":"unknown"}\n');
    },
  ],
];

let count = 0;

describe.runIf(process.platform === 'linux')('the agent', () => {
  it.each(ways)('ends when %s, pauses the run, and leaves no process', async (_, go) => {
    const marker = `601${process.pid}0${++count}`;
    const command = `test -e again && exit; touch again; sleep ${marker}`;
    await using setup = await createSetup(({ n }) => (n === 1 ? { calls: [{ tool: 'bash', args: { command } }] } : { text: 'Done.' }));
    const editor = await startEditor(setup, { args: ['--allow', 'bash'] });
    const { sessionId } = await editor.newSession();
    void editor.prompt(sessionId, 'Run it').catch(() => {});
    while (findProcesses(`sleep\0${marker}`).length === 0) await sleep(10);
    go(editor.child);
    // The exit code would be 1 if it took longer than 5 s.
    expect(await editor.exited).toBe(0);
    expect(editor.stderr()).toMatch(/^retinue: 1 run was paused; continue with `retinue resume [0-9a-f]+`, or load the session again\n$/);
    expect(findProcesses(marker)).toEqual([]);
    const runs = JSON.parse((await setup.run('ps', '--all', '--json')).out);
    expect(runs).toMatchObject([{ kind: 'agent', status: 'paused' }]);
    await using later = await startEditor(setup, { args: ['--allow', 'bash'] });
    await later.agent.request(acp.methods.agent.session.load, { sessionId, cwd: setup.folder, mcpServers: [] });
    expect(await later.prompt(sessionId, 'Go on')).toMatchObject({ stopReason: 'end_turn' });
    expect(textOf(later.updates, 'agent_message_chunk')).toContain('Done.');
  });

  it('leaves no process behind when it is killed', async () => {
    const marker = `601${process.pid}0${++count}`;
    await using setup = await createSetup(() => ({ calls: [{ tool: 'bash', args: { command: `sleep ${marker}` } }] }));
    const editor = await startEditor(setup, { args: ['--allow', 'bash'] });
    const { sessionId } = await editor.newSession();
    void editor.prompt(sessionId, 'Run it').catch(() => {});
    while (findProcesses(`sleep\0${marker}`).length === 0) await sleep(10);
    editor.child.kill('SIGKILL');
    await editor.exited;
    while (findProcesses(marker).length > 0) await sleep(10);
  });

  it('keeps a question open for the process that continues the run', async () => {
    await using setup = await createSetup([
      { calls: [{ tool: 'write', args: { path: 'a.txt', content: 'x' } }] },
      { text: 'Done.' },
      { text: 'Done.' },
    ]);
    const asked = Promise.withResolvers<void>();
    const editor = await startEditor(setup, {
      permission: () => {
        asked.resolve();
        return new Promise(() => {});
      },
    });
    const { sessionId } = await editor.newSession();
    await editor.agent.request(acp.methods.agent.session.setMode, { sessionId, modeId: 'ask' });
    void editor.prompt(sessionId, 'Write it').catch(() => {});
    await asked.promise;
    editor.child.stdin.end();
    expect(await editor.exited).toBe(0);
    let questions = 0;
    await using later = await startEditor(setup, {
      permission: () => {
        questions++;
        return { outcome: { outcome: 'selected', optionId: 'allow' } };
      },
    });
    await later.agent.request(acp.methods.agent.session.load, { sessionId, cwd: setup.folder, mcpServers: [] });
    expect(await later.prompt(sessionId, 'Go on')).toMatchObject({ stopReason: 'end_turn' });
    expect(questions).toBe(1);
    const facts = await setup.facts((all) => all.some(({ type }) => type === 'run.ended'));
    expect(facts.filter(({ type }) => type === 'approval.asked')).toHaveLength(1);
    expect(facts.find(({ type }) => type === 'approval.answered')).toMatchObject({ data: { allowed: true, by: 'the user' } });
  });
});
