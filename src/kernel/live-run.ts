// A run of this process, as the program that started it sees it.
import { RetinueError } from '../contract/error.ts';
import type { Outcome } from '../contract/outcome.ts';
import { cancelRun, requestCompaction, sendMessage } from './orders.ts';
import { requestPause, resumeRun } from './pause.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import { type ApprovalAnswer, answerApproval, type ShownCall } from './tool-calls/approval.ts';

/** A run of this process, for the program that started it. */
export interface RunHandle {
  id: string;
  /** Never rejects for an agent's failure; rejects only if the store broke, another process took the tree over, or the run was left paused. */
  outcome: Promise<Outcome>;
  /** Resolves when the request is in the journal. */
  cancel(reason: string, by?: string): Promise<void>;
  /** `rules` narrow the run and its descendants from now on. */
  send(text: string, from?: string, rules?: string[]): Promise<void>;
  /** The run takes no further step until it is resumed, gets a message or is stopped. */
  pause(reason: string): void;
  resume(by?: string): void;
  /** Compacts the conversation before the next turn. False if that is not possible. */
  compact(): boolean;
  /** Answers a call that waits for approval. False if the question is no longer open or another call was shown. */
  answer(call: ShownCall, answer: ApprovalAnswer): Promise<boolean>;
}

/** A class, because its methods are then not made anew for each of thousands of runs. */
export class LiveRunHandle implements RunHandle {
  readonly id: string;
  readonly outcome: Promise<Outcome>;
  readonly #run: Run;
  readonly #services: Services;

  constructor(run: Run, services: Services) {
    this.id = run.id;
    this.outcome = run.ended;
    this.#run = run;
    this.#services = services;
  }

  get #isOpen(): boolean {
    return this.#services.runs.get(this.id) === this.#run;
  }

  async cancel(reason: string, by = 'the caller'): Promise<void> {
    if (this.#isOpen) await cancelRun(this.#run, { reason, by }, this.#services);
  }

  async send(text: string, from = 'the user', rules?: string[]): Promise<void> {
    if (!this.#isOpen || this.#run.isClosing)
      throw new RetinueError('parent_ended', `run ${this.id} has ended and accepts no more messages`);
    if (rules?.length) this.#services.settings.checkRules(rules, 'the message', this.#run.work?.tools.keys() ?? []);
    await sendMessage(this.#run, { text, from, rules }, this.#services);
  }

  pause(reason: string): void {
    requestPause(this.#run, this.#services.redact(reason.toWellFormed(), false));
  }

  resume(by = 'the caller'): void {
    void resumeRun(this.#run, by);
  }

  compact(): boolean {
    return this.#isOpen && requestCompaction(this.#run);
  }

  async answer(call: ShownCall, answer: ApprovalAnswer): Promise<boolean> {
    return this.#isOpen && answerApproval(this.#run, { call, answer }, this.#services);
  }
}
