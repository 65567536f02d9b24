// Compares the journal with what happened outside: lines in files, and requests that the model got.
import type { FactOf, StoredFact } from '../../src/contract/fact.ts';
import { isoToMs } from '../../src/text/instant.ts';
import type { Heard } from './tree.ts';

/** Both sides read the same clock, and facts have millisecond times. */
const toleranceMs = 3;

/** Nothing that was once in the journal is missing or changed. */
export function prefixFaults(seen: StoredFact[][], facts: StoredFact[]): string[] {
  const hashes = facts.map((fact) => fact.hash);
  return seen.flatMap((earlier, i) => {
    const lost = earlier.findIndex((fact, at) => hashes[at] !== fact.hash);
    return lost === -1 ? [] : [`fact ${earlier[lost]?.seq} of ${earlier[lost]?.runId}, there after process ${i + 1}, is lost`];
  });
}

/** A finished call took effect once, before it finished; no call took effect twice. */
export function effectFaults(facts: StoredFact[], effects: Map<string, number[]>): string[] {
  const faults: string[] = [];
  for (const asked of facts) {
    if (asked.type !== 'tool.asked' || asked.data.tool !== 'bash') continue;
    const name = /effects\/(\S+)/.exec(JSON.stringify(asked.data.arguments))?.[1]?.replace(/"}$/, '') ?? '';
    const times = effects.get(name) ?? [];
    const result = facts.find(
      (fact) =>
        fact.type === 'tool.finished' &&
        fact.runId === asked.runId &&
        fact.data.turn === asked.data.turn &&
        fact.data.index === asked.data.index,
    ) as FactOf<'tool.finished'> | undefined;
    const status = result?.data.status ?? 'none';
    if (times.length > 1) faults.push(`the effect ${name} took place ${times.length} times (${status})`);
    if (status === 'ok' && times.length !== 1) faults.push(`the effect ${name} finished and took place ${times.length} times`);
    // A run that was cancelled while no process drove it ends without facts about interrupted calls.
    const wasCancelled =
      (status === 'cancelled' || status === 'none') && facts.some((fact) => fact.type === 'cancel.asked' && fact.runId === asked.runId);
    if (status !== 'ok' && status !== 'unknown' && !wasCancelled)
      faults.push(`the effect ${name} has the result ${status}: ${result?.data.output}`);
    if (result && status === 'ok' && times.some((at) => at > isoToMs(result.at) + toleranceMs))
      faults.push(`the effect ${name} took place after it had finished`);
  }
  return faults;
}

/** No request was repeated after its answer was in the journal. */
export function questionFaults(facts: StoredFact[], heard: Heard[]): string[] {
  const tasks = new Map(facts.flatMap((fact) => (fact.type === 'run.created' ? [[fact.data.brief.task, fact.runId]] : [])));
  const answeredAt = new Map<string, number>();
  const compacting = new Set<string>();
  const place = (runId: string, turn: number, isCompaction: boolean) => `${runId} ${turn} ${isCompaction}`;
  for (const { runId, type, at, data } of facts) {
    if (type === 'model.asked') compacting[data.purpose === 'compact' ? 'add' : 'delete'](runId);
    if (type === 'model.answered') answeredAt.set(place(runId, data.turn, compacting.has(runId)), isoToMs(at));
  }
  return heard.flatMap(({ task, answers, isCompaction, at }) => {
    const answered = answeredAt.get(place(tasks.get(task) ?? '', answers + 1, isCompaction));
    if (answered === undefined || at <= answered + toleranceMs) return [];
    return [`${task} was asked for ${isCompaction ? 'a summary before ' : ''}answer ${answers + 1} although it was in the journal`];
  });
}

/** Every acknowledged message was received once; no message was received twice. */
export function messageFaults(facts: StoredFact[], messages: Map<string, boolean>): string[] {
  return [...messages].flatMap(([text, acknowledged]) => {
    // A message to an ended root becomes the task of a run that continues it.
    const times = facts.filter(
      (fact) =>
        (fact.type === 'message.received' && fact.data.text === text) ||
        (fact.type === 'run.created' && fact.data.brief.continues !== undefined && fact.data.brief.task === text),
    ).length;
    if (times > 1) return [`the message "${text}" was heard ${times} times`];
    return acknowledged && times === 0 ? [`the message "${text}" was acknowledged and is not in the journal`] : [];
  });
}

/** A cancelled run ended cancelled, unless it had ended before; every acknowledged cancel is in the journal. */
export function cancelFaults(facts: StoredFact[], cancelled: Map<string, boolean>): string[] {
  return [...cancelled].flatMap(([runId, acknowledged]) => {
    const own = facts.filter((fact) => fact.runId === runId);
    const asked = own.filter((fact) => fact.type === 'cancel.asked').length;
    const end = own.find((fact) => fact.type === 'run.ended') as FactOf<'run.ended'> | undefined;
    const status = end?.data.outcome.status;
    if (asked > 0 && status !== 'cancelled' && status !== 'completed') return [`run ${runId} was cancelled and ended ${status}`];
    if (asked === 0 && status === 'cancelled') return [`run ${runId} ended cancelled, but nothing says that it was`];
    return acknowledged && asked === 0 && status !== 'completed' ? [`the cancel of ${runId} was acknowledged and is not there`] : [];
  });
}

/** Each approval was asked once and answered once, and no call took effect before its answer. */
export function approvalFaults(facts: StoredFact[]): string[] {
  const place = ({ runId, data }: { runId: string; data: { turn: number; index: number } }) => `${runId}.${data.turn}.${data.index}`;
  const of = (type: StoredFact['type']) => facts.filter((fact) => fact.type === type) as FactOf<'approval.asked'>[];
  const answers = of('approval.answered').map(place);
  const finished = facts.filter((fact) => fact.type === 'tool.finished' && fact.data.status === 'ok') as FactOf<'tool.finished'>[];
  return of('approval.asked').flatMap((fact) => {
    const id = place(fact);
    const asked = of('approval.asked').filter((each) => place(each) === id).length;
    const answered = answers.filter((each) => each === id).length;
    const done = finished.some((each) => place(each) === id);
    if (asked !== 1 || answered > 1) return [`${id} was asked about ${asked} times and answered ${answered} times`];
    return done && answered === 0 ? [`${id} was made without an answer`] : [];
  });
}
