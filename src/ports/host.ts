import type { Fact } from '../contract/fact.ts';

/** The work of one run, as a host gets it. The host uses one of the two ways, once. */
export interface HostWork {
  runId: string;
  /** Drives the run in this process as far as it goes. Never rejects; the kernel writes the run's end after `execute` has resolved. */
  drive(): Promise<void>;
  /**
   * The same for a place that is not this process: `place` is called with what that place may ask for, once the run has its slot and its
   * start, and resolves when nothing of the run is left there. What it rejects with ends the run. Never rejects.
   */
  remote(place: (session: RemoteSession) => Promise<void>): Promise<void>;
}

/**
 * Where a run executes. `execute` resolves when nothing of the run is left: its processes are reaped.
 * It rejects with RetinueError `crashed`, `no_result` or `invalid_reply` when the place broke down; the kernel then ends the run with it.
 */
export interface Host {
  name: string;
  execute(work: HostWork, signal: AbortSignal): Promise<void>;
}

/** What a run does next, as its facts say. */
export type StepKind = 'ask' | 'tools' | 'nudge' | 'park' | 'end';

/** A tool call of a run. */
export interface CallAt {
  turn: number;
  index: number;
}

/** What a place needs to know of a run that executes there, besides its facts. */
export interface RemoteStart {
  runId: string;
  workspace: string;
  toolTimeoutMs: number;
  /** Tools whose calls the place makes itself; the others are made here. */
  portable: string[];
  /** Tools whose calls are made one after the other, wherever that is. */
  ordered: string[];
}

/** What a place asks for. `seq`: of the last fact that it knows. */
export type RemoteAsk =
  | { type: 'step'; kind: StepKind; seq: number }
  | { type: 'may'; at: CallAt }
  | { type: 'call'; at: CallAt }
  | { type: 'result'; at: CallAt; given: unknown };

/**
 * A run that executes elsewhere, as its host sees it. The place decides by the facts what comes next and makes the portable tool calls; model
 * calls, rights, budget and facts stay here. Nothing the place says is believed: a step that the facts do not call for, or a result in
 * the wrong form, rejects with RetinueError `invalid_reply`.
 */
export interface RemoteSession extends RemoteStart {
  /** Every durable fact of the run, from the first on, in order. */
  facts(listener: (fact: Fact) => void): Promise<void>;
  /**
   * Takes a step that follows from the facts up to `seq`; when it resolves, the facts it led to have been told. `over`: the run has come to its
   * end, or was stopped. Where something has come meanwhile, no step is taken: the place decides again.
   */
  step(kind: StepKind, seq: number): Promise<'go on' | 'over'>;
  /** Whether the place may begin a call that it makes itself. `over`: rules that have come meanwhile forbid it, and it has its result. */
  may(at: CallAt): Promise<'go on' | 'over'>;
  /** Makes a call here. */
  call(at: CallAt): Promise<void>;
  /** What a call gave that the place made: its status and result, in whatever form it came. */
  result(at: CallAt, given: unknown): Promise<void>;
}
