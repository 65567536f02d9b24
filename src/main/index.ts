// The package's main entry point, `retinue`.
export type { Api, EventOptions, Interrupted, LiveEvent, Question, RunDetail, RunHandle, RunView } from '../api/api.ts';
export type { Agent } from '../contract/agent.ts';
export type { Artifact } from '../contract/artifact.ts';
export type { Brief } from '../contract/brief.ts';
export type { Delta } from '../contract/delta.ts';
export { type ErrorCode, type ErrorInfo, isRetinueError, RetinueError } from '../contract/error.ts';
export type { Fact, FactType, StoredFact } from '../contract/fact.ts';
export { defaultLimits, type Limits, type LimitsGiven } from '../contract/limits.ts';
export type { Outcome } from '../contract/outcome.ts';
export type { AnyModel } from '../library/models.ts';
export type {
  BriefFor,
  Delegating,
  FlowRun,
  FlowStartOptions,
  OutcomeOf,
  Retinue,
  RetinueOptions,
  Run,
  Scope,
  TelemetryOptions,
  TraceOptions,
} from '../library/types.ts';
export type { Store } from '../ports/store.ts';
export { createMemoryStore } from '../stores/memory.ts';
export { createRetinue } from './library.ts';
