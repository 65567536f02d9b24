// A flow in the simulation: its program delegates the roots of the plan between side effects of its own, and is killed anywhere.
import type { StoredFact } from '../../src/contract/fact.ts';
import type { FlowProgram, FlowSteps } from '../../src/ports/flow.ts';
import { sha256 } from '../../src/text/canonical.ts';
import type { Plan } from './plan.ts';
import type { Outside } from './ports.ts';
import type { SimulatedProcess } from './process.ts';

/** Effects of steps have numbers above those of tools. */
const firstEffect = 100_000;

export function createSimulatedFlow({ roots, flow }: Plan, proc: SimulatedProcess, { effects }: Outside): FlowProgram {
  let line = 0;
  const at = () => `plan.ts:${++line}`;
  return {
    ...{ name: 'simulated', file: null, version: sha256('simulated') },
    checkInput: () => {},
    async run(steps) {
      line = 0;
      steps.log('begin', at());
      const before = await effect(steps, 0, true);
      const answer = steps.ask('Go on?', { timeoutMs: flow?.askMs ?? 0 }, at());
      // It waits for its answer before or after its children.
      const early = flow?.isParallel ? [] : [(await answer).approved];
      const work = roots.map(({ task, limits }, index) => async () => {
        const { outcome } = steps.delegate({ task, agent: 'any', limits }, { name: task }, at());
        const status = await outcome.then(
          (ended) => ended.status,
          (error: Error) => error.message,
        );
        return [status, await effect(steps, index + 1, index % 2 === 0)];
      });
      const done = flow?.isParallel ? await Promise.all(work.map((each) => each())) : await inTurn(work);
      if (flow && flow.sleepMs > 0) await steps.sleep(flow.sleepMs, at());
      const answers = [...early, (await answer).approved];
      return { before, done, answers } as never;
    },
  };

  async function effect(steps: FlowSteps, index: number, idempotent: boolean): Promise<unknown> {
    const n = firstEffect + index;
    const take = async (signal: AbortSignal) => {
      await proc.point();
      if (signal.aborted) throw new Error('stopped');
      effects.set(n, (effects.get(n) ?? 0) + 1);
      await proc.point();
      return n;
    };
    // A step that was cut off is told so, and the program goes on.
    return steps.step(`effect ${n}`, take, { idempotent, timeoutMs: 600_000 }, at()).catch((error: Error) => error.name);
  }
}

async function inTurn<T>(work: (() => Promise<T>)[]): Promise<T[]> {
  const results: T[] = [];
  for (const each of work) results.push(await each());
  return results;
}

/** A step with a result took effect, and one that is not idempotent took effect at most once. A question has one answer. */
export function stepFaults(facts: StoredFact[], { effects }: Outside): string[] {
  const started = facts.flatMap((fact) => (fact.type === 'step.started' && fact.data.kind === 'step' ? [fact.data] : []));
  const numbers = new Set<number>();
  for (const fact of facts) if (fact.type === 'step.started') numbers.add(fact.data.step);
  const faults = started.flatMap(({ step, name, idempotent }) => {
    const times = effects.get(Number(name.split(' ')[1])) ?? 0;
    const results = facts.filter((fact) => fact.type === 'step.finished' && fact.data.step === step);
    const isOk = results.some((fact) => fact.type === 'step.finished' && fact.data.status === 'ok');
    return [
      ...(isOk && times === 0 ? [`step ${name} has a result and did not take place`] : []),
      ...(!idempotent && times > 1 ? [`step ${name} took place ${times} times`] : []),
      ...(results.length > 1 ? [`step ${name} has ${results.length} results`] : []),
    ];
  });
  const answers = facts.filter((fact) => fact.type === 'approval.answered').map(({ runId, data }) => `${runId} ${data.turn}.${data.index}`);
  if (new Set(answers).size !== answers.length) faults.push('a question was answered twice');
  const isEachOnce = facts.filter((fact) => fact.type === 'step.started').length === numbers.size;
  const changed = facts.filter((fact) => fact.type === 'run.ended' && fact.data.outcome.error?.code === 'flow_changed');
  return [
    ...faults,
    ...(isEachOnce ? [] : ['a step was started twice']),
    ...changed.map(() => 'a flow found other steps than it had taken'),
  ];
}
