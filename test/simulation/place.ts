// A run in a simulated process of its own: the real steps of such a process and the real desk, with a pipe between them that keeps the order
// and takes its time. The process may die at any message, and does so 2 s after it was told to stop and did not.
import { RetinueError } from '../../src/contract/error.ts';
import type { Fact } from '../../src/contract/fact.ts';
import { answerTo } from '../../src/hosts/process/answer.ts';
import { takeSteps } from '../../src/kernel/remote-steps.ts';
import { initialState, type RunState, reduce } from '../../src/kernel/state.ts';
import type { Host, RemoteAsk, RemoteSession } from '../../src/ports/host.ts';
import type { Life } from './life.ts';
import { type Outside, toolsOf } from './ports.ts';

const graceMs = 2000;

export function remoteHostOf(life: Life, outside: Outside): Host {
  return { name: 'process', execute: (work, signal) => work.remote((session) => serve(session, signal, { life, outside })) };
}

async function serve(session: RemoteSession, signal: AbortSignal, { life, outside }: { life: Life; outside: Outside }): Promise<void> {
  const own = mortal(life);
  const stop = new AbortController();
  const toProcess = pipe(own.life);
  const toDesk = pipe(life);
  const ended = Promise.withResolvers<void>();
  let state: RunState | null = null;

  function take(fact: Fact): void {
    if (state) reduce(state, fact);
    else if (fact.type === 'run.created') state = initialState(fact);
  }

  function ask(message: RemoteAsk): Promise<'go on' | 'over'> {
    if (life.fails('host')) ended.reject(new RetinueError('crashed', 'the process of the run broke down'));
    return new Promise((resolve) => {
      toDesk(() => void answerTo(message, session).then((value) => toProcess(() => resolve(value)), ended.reject));
    });
  }

  const onAbort = () => {
    toProcess(() => stop.abort({ code: (signal.reason as { code: string }).code === 'paused' ? 'paused' : 'cancelled' }));
    void life.sleep(graceMs).then(ended.resolve);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    await session.facts((fact) => toProcess(() => take(fact)));
    const { runId, workspace, toolTimeoutMs, portable, ordered } = session;
    const start = { runId, workspace, toolTimeoutMs, portable, ordered };
    toProcess(() => {
      const place = { start, state: state as RunState, clock: own.life.clock, signal: stop.signal, ask };
      takeSteps({ ...place, tools: async () => toolsOf(own.life, outside) }).then(ended.resolve, ended.reject);
    });
    await ended.promise;
  } finally {
    own.die();
    signal.removeEventListener('abort', onAbort);
  }
}

/** Everything in its order, each thing in its time. */
function pipe(life: Life): (deliver: () => void) => void {
  let last = Promise.resolve();
  return (deliver) => {
    last = last.then(life.point).then(deliver);
  };
}

/** The life of a process that can die before the one that started it does: from then on nothing that it does comes to pass. */
function mortal(life: Life): { life: Life; die(): void } {
  let isDead = false;
  const unlessDead = () => (isDead ? new Promise<never>(() => {}) : undefined);
  return {
    life: {
      ...life,
      point: () => life.point().then(unlessDead),
      sleep: (ms, signal) => life.sleep(ms, signal).then(unlessDead),
    },
    die() {
      isDead = true;
    },
  };
}
