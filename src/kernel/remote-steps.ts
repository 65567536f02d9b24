// The other side of remote.ts: what the place of a run does, apart from how it talks. It takes the steps that the run's facts call for and
// makes the portable tool calls.
import type { CallState } from '../conversation/request.ts';
import type { Clock } from '../ports/clock.ts';
import type { RemoteAsk, RemoteStart } from '../ports/host.ts';
import type { AnyTool } from '../ports/tool.ts';
import { createDeadlines } from '../scheduling/deadlines.ts';
import { nextStep } from './decide.ts';
import type { RunState } from './state.ts';
import { attempt, type Execution } from './tool-call.ts';

export interface Place {
  start: RemoteStart;
  /** Moves on with every fact that comes. */
  state: RunState;
  clock: Clock;
  signal: AbortSignal;
  ask(message: RemoteAsk): Promise<'go on' | 'over'>;
  /** Not asked for before the first call: the run's first request need not wait for it. */
  tools(): Promise<readonly AnyTool[]>;
}

/** Resolves when the run is over. */
export async function takeSteps(place: Place): Promise<void> {
  const make = createMaker(place);
  for (;;) {
    const step = nextStep(place.state);
    const taken = place.ask({ type: 'step', kind: step.do, seq: place.state.seq });
    if (step.do === 'tools') await make(step.calls);
    if ((await taken) === 'over') return;
  }
}

/** Makes calls: reading ones side by side, changing ones one after the other, as the loop does it. */
function createMaker(place: Place): (calls: CallState[]) => Promise<void> {
  const { start, ask } = place;
  let loaded: Promise<Execution> | null = null;
  // What was asked about is made by the supervisor, like what only it can do.
  const isPortable = (call: CallState) => start.portable.includes(call.tool) && call.approval === null;

  return async (calls) => {
    if (calls.some(isPortable)) loaded ??= executionOf(place);
    const execution = await loaded;
    let changes = Promise.resolve();
    await Promise.all(
      calls.map((call) => {
        const at = { turn: call.turn, index: call.index };
        const one = async () => {
          if (!execution || !isPortable(call)) await ask({ type: 'call', at });
          else if ((await ask({ type: 'may', at })) === 'go on') await ask({ type: 'result', at, given: await attempt(call, execution) });
        };
        if (!start.ordered.includes(call.tool)) return one();
        changes = changes.then(one);
        return changes;
      }),
    );
  };
}

async function executionOf({ start, clock, signal, tools }: Place): Promise<Execution> {
  const { runId, workspace, toolTimeoutMs } = start;
  return {
    runId,
    rootId: runId,
    // Rights were decided where the call was recorded, and secrets are taken out where its result is.
    env: {
      tools: new Map((await tools()).map((tool) => [tool.name, tool])),
      offered: start.portable,
      agent: '',
      rulesets: () => [],
      always: () => [],
      narrowed: () => false,
      attended: () => false,
      expiresAt: () => '',
      workspace,
      toolTimeoutMs,
      checkResult: null,
      redact: String,
      memo: new Map(),
    },
    signal,
    deadlines: createDeadlines(clock),
    now: () => clock.monotonic(),
    // Portable tools delegate nothing.
    delegation: null as unknown as Execution['delegation'],
  };
}
