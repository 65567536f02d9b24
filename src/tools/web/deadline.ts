// The time limit of the web tools.
import type { ToolResult } from '../../ports/tool.ts';
import { createToolFailure } from '../refusal.ts';

/** Runs `work` with a signal that also fires after `ms`, which becomes an error result. Rejects when the signal of the caller fires. */
export async function withDeadline(
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<ToolResult>,
): Promise<ToolResult> {
  signal.throwIfAborted();
  const stop = new AbortController();
  const onAbort = () => stop.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(() => stop.abort(new Error('timeout')), ms);
  try {
    return await work(stop.signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!stop.signal.aborted) throw error;
    return createToolFailure(`no complete response within ${ms / 1000} s`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}
