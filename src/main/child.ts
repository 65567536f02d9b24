// The process of one run: it computes the run's state from its facts, takes its steps and makes its portable tool calls. Everything else is
// done by the supervisor, over one pipe. When the pipe closes, the supervisor is gone, and this process exits with everything it started.
import { Socket } from 'node:net';
import { readLines, writeLine } from '../hosts/process/lines.ts';
import { channelFd, type ToChild } from '../hosts/process/protocol.ts';
import { takeSteps } from '../kernel/remote-steps.ts';
import { initialState, type RunState, reduce } from '../kernel/state.ts';
import type { RemoteAsk, RemoteStart } from '../ports/host.ts';
import { systemClock } from '../system/clock.ts';

export async function serveRun(): Promise<void> {
  const channel = new Socket({ fd: channelFd, readable: true, writable: true });
  const stop = new AbortController();
  const pending = new Map<number, (value: 'go on' | 'over') => void>();
  const started = Promise.withResolvers<{ start: RemoteStart; state: RunState }>();
  let state: RunState | null = null;
  let lastId = 0;

  /** Exit handlers end the commands that are still running. */
  function exitAtOnce(): void {
    process.exit(1);
  }

  function handle(message: ToChild): void {
    if (message.type === 'ping') writeLine(channel, { type: 'pong' });
    else if (message.type === 'stop') stop.abort({ code: message.paused ? 'paused' : 'cancelled' });
    else if (message.type === 'start') started.resolve({ start: message.start, state: state as RunState });
    else if (message.type === 'reply') pending.get(message.id)?.(message.value);
    else {
      const { fact } = message;
      if (state) reduce(state, fact);
      else if (fact.type === 'run.created') state = initialState(fact);
    }
  }

  function ask(message: RemoteAsk): Promise<'go on' | 'over'> {
    const id = ++lastId;
    return new Promise((resolve) => {
      pending.set(id, (value) => {
        pending.delete(id);
        resolve(value);
      });
      writeLine(channel, { ...message, id });
    });
  }

  readLines(channel, (line) => handle(JSON.parse(line) as ToChild), exitAtOnce);
  channel.on('close', exitAtOnce);
  const run = await started.promise;
  const tools = async () => (await import('../tools/index.ts')).portableTools;
  await takeSteps({ ...run, clock: systemClock, signal: stop.signal, ask, tools });
  process.exit(0);
}
