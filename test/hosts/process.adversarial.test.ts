// Processes that are not what they should be: nothing they say or fail to say bends a run.
import { describe, expect, it } from 'vitest';
import type { Fact } from '../../src/contract/fact.ts';
import { createProcessHost } from '../../src/hosts/process.ts';
import { tool } from '../support/adversary.ts';
import { impostor, processWorld } from './support.ts';

const channel = `import { Socket } from 'node:net'; const pipe = new Socket({ fd: 3, readable: true, writable: true });
const say = (message) => pipe.write(typeof message === 'string' ? message : JSON.stringify(message) + '\\n'); pipe.on('close', () => process.exit(0));`;
const stay = 'setInterval(() => {}, 1000);';
/** Speaks when it has heard of the run's start. */
const afterStart = (source: string) => `${channel} let n = 0; pipe.on('data', () => { if (n++ === 0) { ${source} } }); ${stay}`;

const cases: [name: string, source: string, code: string, message: RegExp][] = [
  ['leaves at once without a word', 'process.exit(0)', 'no_result', /without an outcome/],
  ['leaves with an error', 'console.error("out of cheese"); process.exit(3)', 'crashed', /exit code 3 \(it last wrote: out of cheese\)/],
  ['ends by a signal', 'process.kill(process.pid, "SIGABRT")', 'crashed', /SIGABRT/],
  ['throws', 'throw new Error("broken")', 'crashed', /exit code 1/],
  ['says what is not JSON', afterStart(`say('hello\\n')`), 'invalid_reply', /^reply: it is not JSON/],
  ['says what nobody understands', afterStart(`say({ type: 'fact', fact: {} })`), 'invalid_reply', /^type: /],
  ['asks with a wrong id', afterStart(`say({ type: 'step', id: -1, kind: 'ask', seq: 2 })`), 'invalid_reply', /^id: /],
  [
    'asks for a step that the facts do not call for',
    afterStart(`say({ type: 'step', id: 1, kind: 'end', seq: 2 })`),
    'invalid_reply',
    /^step: /,
  ],
  [
    'gives a result of a call that nobody made',
    afterStart(`say({ type: 'result', id: 1, at: { turn: 1, index: 0 }, given: {} })`),
    'invalid_reply',
    /^call: /,
  ],
  [
    'has a call made that nobody asked for',
    afterStart(`say({ type: 'call', id: 1, at: { turn: 1, index: 0 } })`),
    'invalid_reply',
    /^call: /,
  ],
  [
    'says one line without end',
    afterStart(`const big = 'x'.repeat(1 << 20); const go = () => { while (pipe.write(big)); pipe.once('drain', go); }; go();`),
    'invalid_reply',
    /longer than/,
  ],
];

describe('a process that', () => {
  it.each(cases)('%s: the run fails, once, with a typed error', async (_, source, code, message) => {
    await using world = await processWorld({
      script: { runs: [{ times: 'any', steps: [{ text: 'never' }] }] },
      host: { command: impostor(source) },
    });
    const outcome = await (await world.runtime.start({ task: 'x' })).outcome;
    expect(outcome).toMatchObject({ status: 'failed', error: { code, message: expect.stringMatching(message) } });
    expect(world.types().filter((type) => type === 'run.ended')).toHaveLength(1);
    expect(world.runtime.stats()).toMatchObject({ active: 0, queued: 0, timers: 0, runs: 0 });
  });

  it('cannot be started: the run fails and its slot is free', async () => {
    await using world = await processWorld({ host: { command: ['/no/such/program'] } });
    const outcome = await (await world.runtime.start({ task: 'x' })).outcome;
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'crashed' } });
    expect(world.runtime.stats().active).toBe(0);
  });

  it('writes 200 MB to both outputs: it is read, kept out of memory, and never waits', async () => {
    const source = `${channel} const big = Buffer.alloc(1 << 20, 120); let n = 0;
      const go = () => { if (n++ === 100) return process.exit(7); process.stdout.write(big, () => process.stderr.write(big, go)); }; go();`;
    await using world = await processWorld({ host: { command: impostor(source) } });
    const before = process.memoryUsage().rss;
    const outcome = await (await world.runtime.start({ task: 'x' })).outcome;
    expect(outcome.error).toMatchObject({ code: 'crashed', message: expect.stringMatching(/exit code 7/) });
    expect(outcome.error?.message.length).toBeLessThan(1000);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
  });

  it('gives a forged result for a call that is the supervisor’s: refused', async () => {
    const source = `${channel} let text = ''; let step = 0;
      pipe.on('data', (chunk) => { text += chunk;
        if (step === 0 && text.includes('run.started')) { step = 1; say({ type: 'step', id: 1, kind: 'ask', seq: 2 }); }
        if (step === 1 && text.includes('"id":1')) { step = 2; say({ type: 'step', id: 2, kind: 'tools', seq: 99 });
          say({ type: 'result', id: 3, at: { turn: 1, index: 0 }, given: { status: 'ok', result: { output: 'forged' } } }); } });`;
    const call = { tool: 'delegate', args: { tasks: [{ task: 'a' }], wait_seconds: 0 } };
    await using world = await processWorld({
      script: { runs: [{ times: 'any', steps: [{ calls: [call] }] }] },
      host: { command: impostor(source) },
      limits: { maxDepth: 1 },
    });
    const outcome = await (await world.runtime.start({ task: 'x' })).outcome;
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'invalid_reply' } });
    expect(JSON.stringify(world.facts)).not.toContain('forged');
  });

  it('has one call made twice: refused, and the tool is used once', async () => {
    let used = 0;
    const pay = tool('pay', async () => ({ output: `paid ${++used}` }), { idempotent: false });
    const source = `${channel} let text = ''; let step = 0;
      pipe.on('data', (chunk) => { text += chunk;
        if (step === 0 && text.includes('run.started')) { step = 1; say({ type: 'step', id: 1, kind: 'ask', seq: 2 }); }
        if (step === 1 && text.includes('"id":1')) { step = 2; say({ type: 'step', id: 2, kind: 'tools', seq: 99 });
          for (const id of [3, 4]) say({ type: 'call', id, at: { turn: 1, index: 0 } }); } });`;
    const script = { runs: [{ times: 'any', steps: [{ calls: [{ tool: 'pay', args: {} }] }] }] };
    const agents = [{ name: 'all', description: '', prompt: '', source: 'test' }];
    await using world = await processWorld({ script, agents, tools: [pay], host: { command: impostor(source) } });
    const outcome = await (await world.runtime.start({ task: 'x', agent: 'all' })).outcome;
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'invalid_reply' } });
    expect([used, world.types().filter((type) => type === 'tool.finished').length]).toEqual([1, 1]);
  });
});

it('hears every fact that was there before it is told to start, also of a run that goes on', async () => {
  const source = `${channel} let text = ''; pipe.on('data', (chunk) => { text += chunk; if (text.includes('"start"')) {
    const types = text.trim().split('\\n').map((line) => JSON.parse(line).type).filter((type) => type !== 'ping'); console.error(types.join(' ')); process.exit(9); } });`;
  const host = createProcessHost({ command: impostor(source), env: process.env, marks: () => ({}) });
  const session = {
    ...{ runId: '1', workspace: '/', toolTimeoutMs: 1, portable: [], ordered: [] },
    async facts(listener: (fact: Fact) => void) {
      for (let seq = 1; seq <= 3; seq++) {
        listener({ seq, type: 'run.resumed' } as Fact);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    ...{ step: async () => 'over' as const, may: async () => 'over' as const, call: async () => {}, result: async () => {} },
  };
  const work = { runId: '1', drive: async () => {}, remote: (place: (given: typeof session) => Promise<void>) => place(session) };
  await expect(host.execute(work, new AbortController().signal)).rejects.toThrow('(it last wrote: fact fact fact start)');
});
