// Clients that stop waiting, cancel, or ask for progress. No finished work is lost.
import { describe, expect, it } from 'vitest';
import { createEnvironment, readTexts, startProvider, startServer } from './support.ts';

const idOf = (text: string | undefined) => /run ([0-9a-f]{16})/.exec(text ?? '')?.[1] as string;

describe('a client that gives up before its child has ended', () => {
  it('finds the outcome in the next result, and can read it by id', async () => {
    const provider = await startProvider({ slow: { text: `the slow answer ${'x'.repeat(300)} to its end` }, quick: { text: 'quick' } }, [
      'slow',
    ]);
    await using server = await startServer({ env: createEnvironment(provider) });
    const given = server.call('delegate', { tasks: [{ task: 'slow work', label: 'the long one' }] }, { timeout: 1500 });
    await expect(given).rejects.toThrow(/timed out/i);
    await provider.asked('slow');
    // The run continues, so the next call does not report it yet.
    const before = await server.call('delegate', { tasks: [{ task: 'quick work' }] });
    expect(readTexts(before)).toHaveLength(1);
    provider.release('slow');
    const open = readTexts(await server.call('delegate_wait', {}));
    expect(open[0]).toMatch(/the slow answer|No delegated run is open/);
    const all = open.join('\n');
    expect(all).toMatch(/run [0-9a-f]{16} · completed · 1 turn.*"the long one"/);
    const page = readTexts(await server.call('delegate_read', { id: idOf(all), part: 'summary' }));
    expect(page).toEqual([expect.stringContaining('to its end')]);
    await provider.close();
  });

  it('learns once what ended in the meantime, in an extra block that says how to read it', async () => {
    const provider = await startProvider({ slow: { text: 'the slow answer' }, quick: { text: 'quick' } }, ['slow']);
    await using server = await startServer({ env: createEnvironment(provider) });
    await expect(server.call('delegate', { tasks: [{ task: 'slow work', label: 'long' }] }, { timeout: 1000 })).rejects.toThrow(
      /timed out/i,
    );
    await provider.asked('slow');
    provider.release('slow');
    const runs: { runId: string; label: string | null }[] = await server.place.until(
      ['ps', '--all'],
      (all: { runId: string; label: string | null; status: string }[]) =>
        all.some((run) => run.label === 'long' && run.status === 'completed'),
    );
    const id = runs.find((run) => run.label === 'long')?.runId as string;
    const next = readTexts(await server.call('delegate', { tasks: [{ task: 'quick work' }] }));
    expect(next).toHaveLength(2);
    expect(next[1]).toMatch(
      new RegExp(
        `Delegated runs that have ended in the meantime:\\n\\[run ${id} · completed · 1 turn · "long"\\] the slow answer\\n.*delegate_read .*${id}`,
      ),
    );
    expect(readTexts(await server.call('delegate', { tasks: [{ task: 'quick work' }] }))).toHaveLength(1);
    expect(readTexts(await server.call('delegate_read', { id, part: 'summary' }))[0]).toContain('the slow answer');
    await provider.close();
  });
});

it('a call does not report a run that another call is still waiting for', async () => {
  const provider = await startProvider(
    { slow: { text: 'the slow answer' }, early: { text: 'the early answer' }, quick: { text: 'quick' } },
    ['slow'],
  );
  await using server = await startServer({ env: createEnvironment(provider) });
  const both = server.call('delegate', { tasks: [{ task: 'early work', label: 'early' }, { task: 'slow work' }] });
  await server.place.until(['ps', '--all'], (all: { label: string | null; status: string }[]) =>
    all.some((run) => run.label === 'early' && run.status === 'completed'),
  );
  expect(readTexts(await server.call('delegate', { tasks: [{ task: 'quick work' }] }))).toEqual([expect.stringContaining('quick')]);
  provider.release('slow');
  expect(readTexts(await both)).toEqual([expect.stringMatching(/the early answer[\s\S]*the slow answer/)]);
  await provider.close();
});

describe('a client that cancels', () => {
  it('ends what the call started', async () => {
    const provider = await startProvider({ slow: { text: 'never' } }, ['slow']);
    await using server = await startServer({ env: createEnvironment(provider) });
    const stop = new AbortController();
    const given = server.call('delegate', { tasks: [{ task: 'slow work', label: 'long' }] }, { signal: stop.signal });
    await provider.asked('slow');
    stop.abort(new Error('the user pressed escape'));
    await expect(given).rejects.toThrow(/escape/);
    const runs: { label: string; status: string }[] = await server.place.until(
      ['ps', '--all'],
      (all: { label: string; status: string }[]) => all.some((run) => run.label === 'long' && run.status === 'cancelled'),
    );
    expect(runs).toHaveLength(2);
    expect(readTexts(await server.call('delegate_wait', {})).at(-1)).toMatch(/cancelled/);
    await provider.close();
  });

  it('a wait, ends no run', async () => {
    const provider = await startProvider({ slow: { text: 'the slow answer' } }, ['slow']);
    await using server = await startServer({ env: createEnvironment(provider) });
    const [started] = readTexts(await server.call('delegate', { tasks: [{ task: 'slow work' }], wait_seconds: 0 }));
    await provider.asked('slow');
    const stop = new AbortController();
    const waiting = server.call('delegate_wait', { ids: [idOf(started)] }, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow(/enough/);
    provider.release('slow');
    expect(readTexts(await server.call('delegate_wait', { ids: [idOf(started)] }))).toEqual([expect.stringContaining('the slow answer')]);
    await provider.close();
  });
});

describe('progress', () => {
  it('reports turns and tools of the call’s runs with growing values, if the client asked for it', async () => {
    const steps = [{ calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'listed' }];
    const provider = await startProvider({ look: steps, hidden: { text: 'no' } }, ['look']);
    await using server = await startServer({ env: createEnvironment(provider) });
    const heard: { progress: number; message?: string }[] = [];
    const given = server.call(
      'delegate',
      { tasks: [{ task: 'look around', label: 'scout' }] },
      { onprogress: (each) => void heard.push(each as { progress: number; message?: string }) },
    );
    await provider.asked('look');
    await server.call('delegate', { tasks: [{ task: 'hidden', label: 'other' }] });
    provider.release('look');
    expect(readTexts(await given)[0]).toContain('listed');
    expect(heard.length).toBeGreaterThan(0);
    for (const [index, { progress }] of heard.entries()) expect(progress).toBeGreaterThan(heard[index - 1]?.progress ?? 0);
    expect(heard.every(({ message }) => /^scout: (turn \d+(, list)?|completed)$/.test(message ?? ''))).toBe(true);
    await provider.close();
  });
});

it('two clients at the same time do not see each other’s runs', async () => {
  const provider = await startProvider({ alpha: { text: 'of alpha' }, beta: { text: 'of beta' } }, ['alpha', 'beta']);
  await using one = await startServer({ env: createEnvironment(provider) });
  await using two = await startServer({ env: createEnvironment(provider), place: one.place });
  const first = one.call('delegate', { tasks: [{ task: 'alpha' }], wait_seconds: 0 });
  const second = two.call('delegate', { tasks: [{ task: 'beta' }], wait_seconds: 0 });
  const [a, b] = [idOf(readTexts(await first)[0]), idOf(readTexts(await second)[0])];
  await Promise.all([provider.asked('alpha'), provider.asked('beta')]);
  // A client cannot cancel another client's run, even if it knows the id.
  await two.call('delegate_cancel', { ids: [a] });
  provider.release('alpha');
  provider.release('beta');
  expect(readTexts(await one.call('delegate_wait', { ids: [a] }))).toEqual([expect.stringContaining('of alpha')]);
  const seen = readTexts(await two.call('delegate_wait', { ids: [b] })).join('\n');
  expect(seen).toContain('of beta');
  expect(seen).not.toContain('alpha');
  await provider.close();
});
