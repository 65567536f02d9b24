// The ledger of shared budgets: what each run has spent and reserved, over all processes that share a store.
import type { Amount, BudgetDefinition, BudgetState } from '../contract/budget.ts';

/** What a run needs, for itself and everything below it. */
export interface DrawRequest {
  rootId: string;
  runId: string;
  /** Names. A budget that does not exist limits nothing. */
  budgets: string[];
  /** Since the run began, over all periods and processes. */
  spent: Amount;
  /** For calls in flight. It stays reserved, whatever the result. */
  open: Amount;
  /** For the next call; zero if there is none. */
  need: Amount;
  /** May be reserved besides. Less is reserved if little is left. */
  ahead: Amount;
}

/** The next call does not fit beside what all runs have spent in the period. */
export interface BudgetRefusal {
  budget: string;
  cause: 'max_tokens' | 'max_cost';
  whenExceeded: BudgetDefinition['whenExceeded'];
  /** The time until the next period; null for a total budget. */
  resetMs: number | null;
}

/**
 * `allowed`: the sum of spent and reserved that the run may reach within `validMs`; null if unlimited. `fenced`: another process owns the tree. `reserved`: the next call
 * fits beside what was spent, but not beside what other runs have reserved, and may be returned.
 */
export type DrawResult =
  | { ok: true; allowed: { tokens: number | null; costUsd: number | null }; validMs: number }
  | { ok: false; reason: 'fenced' }
  | { ok: false; reason: 'reserved' }
  | { ok: false; reason: 'spent'; refusal: BudgetRefusal };

/** A run with a reservation. `stamp` changes with every draw. */
export interface OpenDraw {
  rootId: string;
  runId: string;
  stamp: string;
}

/**
 * Invariants: what all runs have spent and reserved in a period exceeds a limit only by what they spent beyond their reservations, or because the limit was lowered.
 * Periods use the clock of the store.
 *
 * Failure contract: as for the store.
 */
export interface Budgets {
  /** By name. */
  list(): Promise<BudgetState[]>;
  /** Defines a budget or changes it. What was spent in the current period stays, unless the kind of period changes. */
  set(definition: BudgetDefinition): Promise<void>;
  /** False if there is no such budget. What was spent from it is forgotten. */
  remove(name: string): Promise<boolean>;
  /** Reports what was spent and reserves what is needed, from all budgets or from none. `owner`: of the tree (`Owner` in ports/store.ts). */
  draw(owner: { id: string }, request: DrawRequest): Promise<DrawResult>;
  openDraws(): Promise<OpenDraw[]>;
  /** Sets what the run of a tree that is not driven has spent, with nothing reserved. No effect if the run has drawn since. */
  settle(draw: OpenDraw, spent: Amount): Promise<void>;
}
