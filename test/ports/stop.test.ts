// What stops runs and calls behaves like an `AbortSignal`, whether somebody asks for a real one or not.
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { LinkedStop, Stop, type StopSignal, toAbortSignal } from '../../src/ports/stop.ts';

const reasonA = { reason: 'a' };
const reasonB = { reason: 'b' };

/** The calls of listeners, with what the signal says during each. */
function listen(signal: StopSignal): unknown[] {
  const heard: unknown[] = [];
  signal.addEventListener('abort', () => heard.push(signal.reason), { once: true });
  signal.addEventListener('abort', { handleEvent: () => heard.push(signal.aborted) }, { once: true });
  return heard;
}

describe.each<[string, () => { signal: StopSignal; abort(reason: unknown): void }]>([
  [
    'a Stop',
    () => {
      const stop = new Stop();
      return { signal: stop, abort: (reason) => stop.abort(reason) };
    },
  ],
  [
    'an AbortSignal',
    () => {
      const controller = new AbortController();
      return { signal: controller.signal, abort: (reason) => controller.abort(reason) };
    },
  ],
])('%s', (_, create) => {
  it('calls each listener once, in order, with the first reason', () => {
    const { signal, abort } = create();
    const heard = listen(signal);
    expect(signal.aborted).toBe(false);
    abort(reasonA);
    abort(reasonB);
    expect(signal).toMatchObject({ aborted: true, reason: reasonA });
    expect(heard).toEqual([reasonA, true]);
    expect(listen(signal)).toEqual([]);
  });

  it('does not call listeners that were removed', () => {
    const { signal, abort } = create();
    const heard: string[] = [];
    const first = () => heard.push('first');
    const second = () => heard.push('second');
    signal.addEventListener('abort', first, { once: true });
    signal.addEventListener('abort', second, { once: true });
    signal.removeEventListener('abort', first);
    signal.removeEventListener('abort', first);
    abort(reasonA);
    expect(heard).toEqual(['second']);
  });

  it('stops what is linked to it, until that is released', () => {
    const { signal, abort } = create();
    const [linked, released] = [new LinkedStop(signal), new LinkedStop(signal)];
    released.release();
    released.release();
    abort(reasonA);
    expect(linked).toMatchObject({ aborted: true, reason: reasonA });
    expect(released.aborted).toBe(false);
    expect(new LinkedStop(signal)).toMatchObject({ aborted: true, reason: reasonA });
  });
});

describe('the AbortSignal of a Stop', () => {
  it('is the same each time, and fires with it', () => {
    const stop = new Stop();
    const signal = toAbortSignal(stop);
    expect(toAbortSignal(stop)).toBe(signal);
    const heard = listen(signal);
    stop.abort(reasonA);
    expect(heard).toEqual([reasonA, true]);
  });

  it('has fired if it is asked for later', () => {
    const stop = new Stop();
    stop.abort(reasonA);
    expect(toAbortSignal(stop)).toMatchObject({ aborted: true, reason: reasonA });
  });

  it('of an AbortSignal is that signal', () => {
    const { signal } = new AbortController();
    expect(toAbortSignal(signal)).toBe(signal);
  });
});

it('a link that stops alone does not stop what it is linked to, and leaves no listener', () => {
  const controller = new AbortController();
  const stop = new Stop();
  for (const signal of [controller.signal, stop]) {
    const linked = new LinkedStop(signal);
    linked.abort(reasonA);
    linked.release();
    expect(signal.aborted).toBe(false);
  }
  expect([stop.listenerCount, getEventListeners(controller.signal, 'abort').length]).toEqual([0, 0]);
});
