// The runtime of one process as others see it: what it needs, and what it gives.
import type { Delta } from '../contract/delta.ts';
import type { Fact } from '../contract/fact.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { Clock } from '../ports/clock.ts';
import type { Delegation } from '../ports/delegation.ts';
import type { Dialect } from '../ports/dialect.ts';
import type { Host } from '../ports/host.ts';
import type { Ids } from '../ports/ids.ts';
import type { ModelCaller } from '../ports/model.ts';
import type { Memories } from '../ports/notes.ts';
import type { ResultCheck } from '../ports/schema.ts';
import type { Redact } from '../ports/secrets.ts';
import type { Owner, Store } from '../ports/store.ts';
import type { AnyTool } from '../ports/tool.ts';
import type { WorkspaceReader } from '../ports/workspace.ts';
import type { Ground } from './admit.ts';
import type { Questions } from './approval.ts';
import type { ClientOptions } from './client.ts';
import type { Answer, CallShown } from './steer.ts';

export interface RuntimeOptions extends Omit<Ground, 'tools' | 'delegationTools' | 'setup'> {
  store: Store;
  clock: Clock;
  ids: Ids;
  tools: AnyTool[];
  dialect: Dialect;
  /** Where runs execute; what is delegated on `delegatedHost`, where that is given. */
  host: Host;
  delegatedHost?: Host | undefined;
  /** The host of a name that a run was created with, for one that goes on; null where there is none here. */
  hostNamed?: ((name: string) => Host | null) | undefined;
  callModel: ModelCaller;
  redact: Redact;
  workspaces: WorkspaceReader;
  /** What briefs with `inheritMemories` are told. */
  memories: Memories;
  /** Who is asked where a rule asks. Without it nobody is: every `ask` is a deny. */
  questions?: Questions | undefined;
  /** Runs at work at once in this process. */
  slots?: number;
  maxQueued?: number;
}

/** What a starter in the same process may add to a brief, because it is not JSON. */
export interface StartOptions {
  /** A further check of a submitted result, after its schema. */
  check?: ResultCheck;
}

/** What became of asking to go on with a tree; `pid`: of the living process that drives it. */
export type Resumed = { ok: true; handles: RunHandle[] } | { ok: false; pid: number };

/** A run of this process, as its starter holds it. */
export interface RunHandle {
  id: string;
  /** It takes no further step until it is resumed, told something, or stopped. */
  pause(reason: string): void;
  resume(by?: string): void;
  outcome: Promise<Outcome>;
  cancel(reason: string, by?: string): Promise<void>;
  /** `rules` narrow the run and everything below it from now on. */
  send(text: string, from?: string, rules?: string[]): Promise<void>;
  /** Answers a call that waits for a word. Whether that counts: the question is still open and is the one that was shown. */
  answer(call: CallShown, answer: Answer): Promise<boolean>;
}

/** Somebody who delegates from outside: a root without a model. */
export interface Client {
  id: string;
  delegation: Delegation;
  delegate(brief: unknown, options?: StartOptions): Promise<RunHandle>;
  /** Ends it; what still runs below it is stopped first. `gone`: it did not close by itself, and that is what its children ended of. */
  close(how?: { gone: boolean }): Promise<Outcome>;
}

export interface Runtime {
  owner: Owner;
  start(brief: unknown, options?: StartOptions): Promise<RunHandle>;
  client(options?: ClientOptions): Promise<Client>;
  /**
   * Goes on with a tree that no living process drives: every run of it from its last fact. `patient`: what is paused until a time that is
   * still to come stays so until then.
   */
  resume(rootId: string, by: string, options?: { patient: boolean }): Promise<Resumed>;
  live(runId: string): RunHandle | null;
  listen(listener: (event: Fact | Delta) => void): () => void;
  /** Slots and timers in use: both 0 when nothing runs. */
  stats(): { active: number; queued: number; timers: number; runs: number };
  /** Takes no new work and leaves what runs for another process to go on with. */
  drain(reason: string): Promise<void>;
  /** Stops what runs, waits for it, and gives up the lease. */
  close(): Promise<void>;
}
