// The entry point `retinue/flow`: what a program needs that defines flows. It loads none of the runtime.
export {
  type AppliedChanges,
  defineFlow,
  type Flow,
  type FlowAnswer,
  type FlowBrief,
  type FlowDefinition,
  type FlowOutcome,
  type Recorded,
  StepUnknown,
} from '../flows/definition.ts';
export type { StandardSchema } from '../flows/result.ts';
