import type { Agent } from '../contract/agent.ts';
import type { Brief } from '../contract/brief.ts';
import type { Delta } from '../contract/delta.ts';
import type { ErasedFact, Fact, StoredFact } from '../contract/fact.ts';
import type { Decision, Grant } from '../contract/grant.ts';
import type { Json } from '../contract/json.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { McpServer } from '../contract/mcp-server.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { RunRow, RunStatus } from '../contract/run.ts';
import type { Client, StartOptions } from '../kernel/runtime.ts';
import type { Dialect } from '../ports/dialect.ts';
import type { Erasing } from '../records/erase.ts';
import type { Fork } from '../records/fork.ts';
import type { Transfer } from '../records/transfer.ts';
import type { Proofs } from '../records/verify.ts';
import type { EventOptions } from './events.ts';

/** What happens live in this process: facts once they are durable, and deltas. */
export type LiveEvent = Fact | Delta;

/** A run of this process. */
export interface Handle {
  id: string;
  /** Never rejects for an agent's failure; rejects only when the store broke or another process took the tree over. */
  outcome: Promise<Outcome>;
  /** Resolves when the request is in the journal. */
  cancel(reason: string): Promise<void>;
  /** `rules` narrow it, and everything below it, from now on. */
  send(text: string, from?: string, rules?: string[]): Promise<void>;
  /** It takes no further step until it is resumed, told something or stopped. */
  pause(reason: string): void;
  resume(): void;
}

/** One line of `ps`: keys in the order in which they are printed. `interrupted`: the process that drove it is gone. */
export interface RunView {
  runId: string;
  parentId: string | null;
  rootId: string;
  depth: number;
  kind: RunRow['kind'];
  label: string | null;
  agent: string | null;
  status: RunStatus | 'interrupted';
  turns: number;
  tokens: RunRow['tokens'];
  costUsd: number | null;
  startedAt: string | null;
  endedAt: string | null;
  /** Whether a living process goes on with it. Not printed: `status` says it for people. */
  driven: boolean;
}

/** `brief`, `grant` and `outcome` are null where the run was erased, and `outcome` while it lives. */
export interface RunDetail extends RunView {
  brief: Brief | null;
  grant: Grant | null;
  /** The MCP servers that the agent of an unfinished run brought along when that was created. */
  servers: Record<string, McpServer>;
  outcome: Outcome | null;
  /** Where what its tools and children told comes from, as far as that is not to be trusted. */
  taint: string[];
  /** When what it said was erased, where it was. */
  erasedAt?: string;
  children: RunView[];
}

/** `asked`: the request is in the journal of a living owner. `ended`: nobody drove the run, so it was ended here. `already`: it had ended. */
export interface Cancelled {
  runId: string;
  result: 'asked' | 'ended' | 'already';
}

/** A call that waits for somebody's word. `hash` stands for what was shown and will be executed. */
export interface Question {
  id: string;
  runId: string;
  rootId: string;
  agent: string | null;
  label: string | null;
  turn: number;
  index: number;
  tool: string;
  arguments: Json;
  subjects: string[];
  decision: Decision;
  hash: string;
  askedAt: string;
  expiresAt: string;
}

/** A tree that no living process drives. */
export interface Interrupted {
  rootId: string;
  kind: RunRow['kind'];
  label: string | null;
  agent: string | null;
  /** Whose tools its runs have: only a runtime of the same dialect can go on with it. */
  dialect: string;
  /** Runs of it that have not ended. */
  open: number;
}

/** The one surface of all front-ends. Bad input rejects with a RetinueError that says what to do. */
export interface Api extends Proofs, Transfer, Erasing {
  /** Admits the brief and starts a root run in this process. Rejects with the refusal where it is not admitted. */
  start(brief: unknown, options?: StartOptions): Promise<Handle>;
  /** What to say to whoever wants this done where there is no model to do it; null where there is one. */
  advise(brief: { model?: string | undefined; agent?: string | undefined }): Promise<string | null>;
  /** Turns an id, its unique beginning or `last` into an id. */
  find(id: string): Promise<string>;
  ps(options: { all: boolean }): Promise<RunView[]>;
  show(id: string): Promise<RunDetail>;
  /** `tree`: with everything below the run. `after`: from the fact behind the one at this position. Of an erased run what is left. */
  logs(id: string, options?: { tree?: boolean; after?: string }): Promise<(StoredFact | ErasedFact)[]>;
  /** Facts as they come, from the first; ends when the run has ended. Sees runs of other processes too. */
  follow(id: string, options: { tree?: boolean; signal: AbortSignal }): AsyncIterable<StoredFact>;
  /** Rejects with `erased` where an outcome is gone. Resolves when all (or any) have ended; with `any`, runs not ended are null. */
  wait(ids: string[], options: { any: boolean; signal: AbortSignal }): Promise<(Outcome | null)[]>;
  /** Oldest first. */
  interrupted(): Promise<Interrupted[]>;
  /**
   * Goes on with an interrupted tree in this process, and gives its runs, the root first. `patient`: what is paused until a time to come stays so until then. Rejects with `fenced` where another process has it,
   * and with `unknown_dialect` where it is another dialect's.
   */
  resume(rootId: string, options?: { patient: boolean }): Promise<Handle[]>;
  /** Holds live runs back at their next step; resolves when that is in the journal. `already`: it has ended, or nobody drives it. */
  pause(ids: string[], reason: string): Promise<{ runId: string; result: 'paused' | 'already' }[]>;
  /** Lets a run of a living process go on that is paused, or about to be; false where it was neither. */
  release(id: string): Promise<boolean>;
  /** Leaves what this process drives for another one to go on with. */
  drain(reason: string): Promise<void>;
  cancel(ids: string[], reason: string): Promise<Cancelled[]>;
  /** Steers a live run of any process; a finished one is asked a follow-up by a new run of this process. */
  message(
    id: string,
    text: string,
    /** Narrow the run and everything below it from now on. */
    options?: { rules?: string[] },
  ): Promise<{ kind: 'sent' } | { kind: 'continued'; handle: Handle }>;
  /** Calls of live runs of any process that wait for somebody's word, the oldest first. */
  questions(): Promise<Question[]>;
  /**
   * Answers one, by its id or by that of a run that asks but one thing. `kept`: nobody drives the run; the answer counts when somebody goes
   * on with it. `late`: it was answered otherwise, or its run has ended.
   */
  answer(
    id: string,
    answer: { allowed: boolean; always?: boolean; reason?: string; by?: string },
  ): Promise<{ question: Question; result: 'answered' | 'kept' | 'late' }>;
  /** A new run of this process from a recorded turn of another; rejects with `not_continuable` where that turn is not there or not over. */
  fork(id: string, fork: Fork): Promise<Handle>;
  agents(): Agent[];
  /** Facts and deltas of a run, for a reader in this process; ends with the run. */
  events(id: string, options?: EventOptions): AsyncIterable<StoredFact | Delta>;
  /** The contract of the delegation tools, for front-ends that offer them. */
  dialect: Dialect;
  /** Somebody who delegates from outside: a root without a model. */
  client(options?: { label?: string; limits?: LimitsGiven }): Promise<Client>;
  /** Live events of this process. A listener that throws is left out from then on. */
  watch(listener: (event: LiveEvent) => void): () => void;
  /** Cancels what still runs here, waits for it, and closes the store. */
  close(): Promise<void>;
}
