// The process of one run: folds the run's facts, takes its steps, makes its portable tool calls. Everything else is the supervisor's, over one
// pipe; when that closes, the supervisor is gone and so is this process, with all that it started.
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
  const replies = new Map<number, (value: 'go on' | 'over') => void>();
  const begun = Promise.withResolvers<{ start: RemoteStart; state: RunState }>();
  let state: RunState | null = null;
  let asked = 0;

  /** Leaves at once; the exit handlers end what commands are still at work. */
  function leave(): void {
    process.exit(1);
  }

  function take(message: ToChild): void {
    if (message.type === 'ping') writeLine(channel, { type: 'pong' });
    else if (message.type === 'stop') stop.abort({ code: message.paused ? 'paused' : 'cancelled' });
    else if (message.type === 'start') begun.resolve({ start: message.start, state: state as RunState });
    else if (message.type === 'reply') replies.get(message.id)?.(message.value);
    else {
      const { fact } = message;
      if (state) reduce(state, fact);
      else if (fact.type === 'run.created') state = initialState(fact);
    }
  }

  function ask(message: RemoteAsk): Promise<'go on' | 'over'> {
    const id = ++asked;
    return new Promise((resolve) => {
      replies.set(id, (value) => {
        replies.delete(id);
        resolve(value);
      });
      writeLine(channel, { ...message, id });
    });
  }

  readLines(channel, (line) => take(JSON.parse(line) as ToChild), leave);
  channel.on('close', leave);
  const run = await begun.promise;
  const tools = async () => (await import('../tools/index.ts')).portableTools;
  await takeSteps({ ...run, clock: systemClock, signal: stop.signal, ask, tools });
  process.exit(0);
}
