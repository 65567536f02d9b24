// The process of one run: folds the run's facts, takes its steps, makes its portable tool calls. Everything else is the supervisor's, over one
// pipe; when that closes, the supervisor is gone and so is this process, with all that it started.
import { Socket } from 'node:net';
import { readLines, writeLine } from '../hosts/process/lines.ts';
import { channelFd, type FromChild, type Start, type ToChild } from '../hosts/process/protocol.ts';
import { nextStep } from '../kernel/decide.ts';
import { initialState, type RunState, reduce } from '../kernel/state.ts';
import type { Execution } from '../kernel/tool-call.ts';
import type { CallState } from '../parts/conversation.ts';

type Ask = FromChild extends infer M ? (M extends { id: number } ? Omit<M, 'id'> : never) : never;

export async function serveRun(): Promise<void> {
  const channel = new Socket({ fd: channelFd, readable: true, writable: true });
  const stop = new AbortController();
  const replies = new Map<number, (value: 'go on' | 'over') => void>();
  const begun = Promise.withResolvers<{ start: Start; state: RunState }>();
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

  function ask(message: Ask): Promise<'go on' | 'over'> {
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
  const tools = toolsOf(run.start, stop.signal);
  for (;;) {
    const step = nextStep(run.state);
    const taken = ask({ type: 'step', kind: step.do, seq: run.state.seq });
    if (step.do === 'tools') await tools.make(step.calls, ask);
    if ((await taken) === 'over') break;
  }
  process.exit(0);
}

function toolsOf(start: Start, signal: AbortSignal) {
  const memo = new Map<string, string>();
  let loaded: Promise<{ run(call: CallState): Promise<unknown> }> | null = null;

  /** Not before the first call: the run's first request need not wait for it. */
  async function load() {
    const [{ portableTools }, { attempt }, { createDeadlines }, { systemClock }] = await Promise.all([
      import('../tools/index.ts'),
      import('../kernel/tool-call.ts'),
      import('../parts/deadlines.ts'),
      import('./system.ts'),
    ]);
    const tools = new Map(portableTools.map((tool) => [tool.name, tool]));
    const deadlines = createDeadlines(systemClock);
    const { workspace, toolTimeoutMs, runId } = start;
    const execution = {
      runId,
      rootId: runId,
      // Rights were decided where the call was recorded, and secrets are taken out where its result is.
      env: {
        ...{
          tools,
          offered: start.portable,
          agent: '',
          rulesets: () => [],
          always: () => [],
          narrowed: () => false,
          attended: () => false,
          expiresAt: () => '',
          workspace,
        },
        ...{ toolTimeoutMs, checkResult: null, redact: String, memo },
      },
      signal,
      deadlines,
      now: () => systemClock.monotonic(),
      // Portable tools delegate nothing.
      delegation: null as unknown as Execution['delegation'],
    };
    return { run: (call: CallState) => attempt(call, execution) };
  }

  return {
    /** Reading calls side by side, changing ones one after the other, as the loop does it. */
    async make(calls: CallState[], ask: (message: Ask) => Promise<unknown>): Promise<void> {
      // What was asked about is made by the supervisor, like what only it can do.
      const isPortable = (call: CallState) => start.portable.includes(call.tool) && call.approval === null;
      if (calls.some(isPortable)) loaded ??= load();
      const own = await loaded;
      let changes: Promise<unknown> = Promise.resolve();
      await Promise.all(
        calls.map((call) => {
          const at = { turn: call.turn, index: call.index };
          const one =
            own && isPortable(call)
              ? async () => {
                  if ((await ask({ type: 'may', at })) === 'go on') await ask({ type: 'result', at, given: await own.run(call) });
                }
              : async () => ask({ type: 'call', at });
          if (!start.ordered.includes(call.tool)) return one();
          changes = changes.then(one);
          return changes;
        }),
      );
    },
  };
}
