// Misbehaving tool processes: nothing they send or fail to send corrupts a run.
import { describe, expect, it } from 'vitest';
import { impostor, processWorld } from './support.ts';

const channel = `import { Socket } from 'node:net'; const pipe = new Socket({ fd: 3, readable: true, writable: true });
const say = (message) => pipe.write(typeof message === 'string' ? message : JSON.stringify(message) + '\\n'); pipe.on('close', () => process.exit(0));`;
const stay = 'setInterval(() => {}, 1000);';
/** Writes once the first message has arrived. */
const afterStart = (source: string) => `${channel} let n = 0; pipe.on('data', () => { if (n++ === 0) { ${source} } }); ${stay}`;
/** Writes once a call has arrived; its id is 1. */
const afterCall = (source: string) =>
  `${channel} let text = ''; let isDone = false; pipe.on('data', (chunk) => { text += chunk;
    if (!isDone && text.includes('"call"')) { isDone = true; ${source} } }); ${stay}`;

const cases: [name: string, source: string, code: string, message: RegExp][] = [
  ['exits at once', 'process.exit(0)', 'no_result', /ended without being told to/],
  ['exits with an error', 'console.error("out of cheese"); process.exit(3)', 'crashed', /exit code 3 \(it last wrote: out of cheese\)/],
  ['ends by a signal', 'process.kill(process.pid, "SIGABRT")', 'crashed', /SIGABRT/],
  ['throws', 'throw new Error("broken")', 'crashed', /exit code 1/],
  ['sends text that is not JSON', afterStart(`say('hello\\n')`), 'invalid_reply', /^reply: it is not JSON/],
  ['sends a message of an unknown type', afterStart(`say({ type: 'fact', fact: {} })`), 'invalid_reply', /^type: /],
  ['sends an invalid id', afterStart(`say({ type: 'error', id: -1, message: '' })`), 'invalid_reply', /^id: /],
  [
    'sends a result without a call',
    afterStart(`say({ type: 'result', id: 7, result: { output: '' }, memo: [] })`),
    'invalid_reply',
    /^id: /,
  ],
  [
    'sends two results of one call',
    afterCall(`for (let i = 0; i < 2; i++) say({ type: 'result', id: 1, result: { output: 'once' }, memo: [] })`),
    'invalid_reply',
    /^id: no call 1 is open/,
  ],
  ['sends a malformed target', afterCall(`say({ type: 'target', id: 1, subjects: [{ path: 'x' }] })`), 'invalid_reply', /^subjects/],
  ['dies during a call', afterCall('process.exit(5)'), 'crashed', /exit code 5/],
  [
    'sends a line that does not end',
    afterStart(`const big = 'x'.repeat(1 << 20); const go = () => { while (pipe.write(big)); pipe.once('drain', go); }; go();`),
    'invalid_reply',
    /longer than/,
  ],
];

/** The model calls a portable tool first, so that the process is needed. */
const script = {
  runs: [{ times: 'any', steps: [{ calls: [{ tool: 'list', args: { path: '.' } }] }, { delayMs: 60_000, text: 'never' }] }],
};

describe('a tool process that', () => {
  it.each(cases)('%s: the run fails, once, with a typed error', async (_, source, code, message) => {
    await using world = await processWorld({ script, host: { command: impostor(source) } });
    const outcome = await (await world.runtime.start({ task: 'x' })).outcome;
    expect(outcome).toMatchObject({ status: 'failed', error: { code, message: expect.stringMatching(message) } });
    expect(world.types().filter((type) => type === 'run.ended')).toHaveLength(1);
    expect(world.runtime.stats()).toMatchObject({ active: 0, queued: 0, timers: 0, runs: 0 });
  });

  it('cannot be started: the run fails and its slot is released', async () => {
    await using world = await processWorld({ script, host: { command: ['/no/such/program'] } });
    const outcome = await (await world.runtime.start({ task: 'x' })).outcome;
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'crashed' } });
    expect(world.runtime.stats().active).toBe(0);
  });

  it('dies during a call: the effect of the call is recorded as unknown', async () => {
    await using world = await processWorld({ script, host: { command: impostor(afterCall('process.exit(5)')) } });
    await (await world.runtime.start({ task: 'x' })).outcome;
    expect(world.facts.find((fact) => fact.type === 'tool.finished')).toMatchObject({ data: { status: 'unknown' } });
  });

  it('writes 200 MB to both outputs: they are read and dropped without blocking it', async () => {
    const source = `${channel} const big = Buffer.alloc(1 << 20, 120); let n = 0;
      const go = () => { if (n++ === 100) return process.exit(7); process.stdout.write(big, () => process.stderr.write(big, go)); }; go();`;
    await using world = await processWorld({ script, host: { command: impostor(source) } });
    const before = process.memoryUsage().rss;
    const outcome = await (await world.runtime.start({ task: 'x' })).outcome;
    expect(outcome.error).toMatchObject({ code: 'crashed', message: expect.stringMatching(/exit code 7/) });
    expect(outcome.error?.message.length).toBeLessThan(1000);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
  });

  it('reports children in a result: only the supervisor’s own tools may, so the claim is dropped', async () => {
    const forged = `say({ type: 'result', id: 1, result: { output: 'seen', told: ['00000000000000ff'] }, memo: [] })`;
    const steps = [{ calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'done' }];
    await using world = await processWorld({ script: { runs: [{ steps }] }, host: { command: impostor(afterCall(forged)) } });
    expect(await (await world.runtime.start({ task: 'x' })).outcome).toMatchObject({ status: 'completed' });
    expect(world.facts.find((fact) => fact.type === 'tool.finished')).toMatchObject({ data: { output: 'seen', told: [] } });
  });

  it('sends an invalid result: the call fails, and the run continues', async () => {
    const invalid = `say({ type: 'result', id: 1, result: { output: 5 }, memo: [] })`;
    const steps = [{ calls: [{ tool: 'list', args: { path: '.' } }] }, { expect: { prompt: 'no valid result' }, text: 'done' }];
    await using world = await processWorld({ script: { runs: [{ steps }] }, host: { command: impostor(afterCall(invalid)) } });
    expect(await (await world.runtime.start({ task: 'x' })).outcome).toMatchObject({ status: 'completed' });
  });

  it('sends a long output in pieces: they are joined', async () => {
    const pieces = `for (const text of ['one ', 'two ', 'three']) say({ type: 'output', id: 1, text }); say({ type: 'result', id: 1, result: { output: '' }, memo: [] })`;
    const steps = [{ calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'done' }];
    await using world = await processWorld({ script: { runs: [{ steps }] }, host: { command: impostor(afterCall(pieces)) } });
    await (await world.runtime.start({ task: 'x' })).outcome;
    expect(world.facts.find((fact) => fact.type === 'tool.finished')).toMatchObject({ data: { output: 'one two three' } });
  });
});
