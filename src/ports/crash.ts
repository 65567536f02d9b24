// Crash points: the moments before and after each effect (a write, a call, a process, a connection) at which the torture test kills a real process.
// Production code passes no `Crash`, so it has no crash points.

/** Facts with two crash points: before their transaction is written, and between its commit and the acknowledgement. */
export const crashFacts = [
  'run.created',
  'run.started',
  'workspace.prepared',
  'workspace.saved',
  'changes.planned',
  'changes.made',
  'changes.discarded',
  'session.opened',
  'session.prompted',
  'model.asked',
  'model.answered',
  'model.failed',
  'model.nudged',
  'model.called',
  'context.pruned',
  'context.compacted',
  'tool.asked',
  'tool.finished',
  'artifact.recorded',
  'child.created',
  'child.ended',
  'message.received',
  'approval.asked',
  'approval.answered',
  'step.started',
  'step.finished',
  'flow.returned',
  'check.started',
  'check.finished',
  'cancel.asked',
  'run.paused',
  'run.resumed',
  'run.ended',
] as const;
export type CrashFact = (typeof crashFacts)[number];

/** Reached only by workers. */
const queueEffects = ['queue.take', 'queue.complete', 'queue.put_back', 'queue.orphans'] as const;

const effects = [
  // the store's transaction, inside and right after it
  'commit',
  // leases: registering, claiming a tree, releasing
  'open',
  'claim',
  'release',
  // orders: stored by another process, looked up, dropped without a fact
  'order.give',
  'order.look',
  'order.drop',
  // reads of a resume
  'resume.runs',
  'resume.facts',
  'resume.blob',
  // the database file
  'migration.step',
  'checkpoint',
  'store.close',
  // a model call
  'model.call',
  // tool calls by their effect
  'tool.read',
  'tool.change',
  'tool.command',
  // files of a run's own: each command of git, each path that is changed, and deleting a checkout
  'workspace.git',
  'workspace.path',
  'workspace.remove',
  // tool executors and their processes
  'host',
  'process.spawn',
  'process.reap',
  // tools of other servers
  'source.tools',
  'source.close',
  // the queue of a worker
  ...queueEffects,
] as const;

export type CrashPoint = `${'before' | 'after'} ${CrashFact | (typeof effects)[number]}` | 'first model.event';

export const crashPoints: readonly CrashPoint[] = [
  ...[...crashFacts, ...effects].flatMap((name): CrashPoint[] => [`before ${name}`, `after ${name}`]),
  'first model.event',
];

/** Crash points that only a worker reaches. */
export const queueCrashPoints: readonly CrashPoint[] = crashPoints.filter((point) => / queue\./.test(point));

/** Called when a crash point is reached. It may not return. */
export type Crash = (point: CrashPoint) => void;
