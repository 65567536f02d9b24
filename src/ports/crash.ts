/**
 * Places at the edges of effects where a process can be made to die: before and after each write, call, process and connection. In production nobody
 * passes a `Crash` in and nothing stands at these places; the torture arms one of them, so that a real process is killed exactly there.
 */

/** Facts whose transaction has a place before it is written, and one between its commit and the acknowledgement. */
export const crashFacts = [
  'run.created',
  'run.started',
  'model.asked',
  'model.answered',
  'model.failed',
  'tool.asked',
  'tool.finished',
  'artifact.recorded',
  'child.created',
  'child.ended',
  'message.received',
  'approval.asked',
  'approval.answered',
  'cancel.asked',
  'run.paused',
  'run.resumed',
  'run.ended',
] as const;
export type CrashFact = (typeof crashFacts)[number];

const effects = [
  // the store's transaction, inside and right after it
  'commit',
  // leases: registering, taking a tree, giving it up
  'open',
  'claim',
  'release',
  // orders: given by another process, looked for, taken away without a fact
  'order.give',
  'order.look',
  'order.drop',
  // what a resume reads
  'resume.runs',
  'resume.facts',
  'resume.blob',
  // the database file
  'migration.step',
  'checkpoint',
  'store.close',
  // one call of a model
  'model.call',
  // tools by what they do
  'tool.read',
  'tool.change',
  'tool.command',
  // where runs execute
  'host',
  'process.spawn',
  'process.reap',
  // tools of other servers
  'source.tools',
  'source.close',
] as const;

export type CrashPoint = `${'before' | 'after'} ${CrashFact | (typeof effects)[number]}` | 'first model.event';

export const crashPoints: readonly CrashPoint[] = [
  ...[...crashFacts, ...effects].flatMap((name): CrashPoint[] => [`before ${name}`, `after ${name}`]),
  'first model.event',
];

/** Called when the place is reached. It may not return. */
export type Crash = (point: CrashPoint) => void;
