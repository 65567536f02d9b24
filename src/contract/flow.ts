// Flows: programs whose steps are recorded.
import { z } from 'zod';
import { Hash } from './ids.ts';

/** What a step of a flow does. `log` has no result. */
export const StepKind = z.enum(['delegate', 'step', 'ask', 'sleep', 'log']);
export type StepKind = z.infer<typeof StepKind>;

/** The owner of the decision that a person is asked by a flow, and the name that questions have in place of a tool. */
export const flowQuestion = { owner: 'the flow', tool: 'ask' };

/** Identifies the program of a flow. `file` is null for one that a program of the library defined. `version` covers its source and local imports. */
export const FlowRef = z.strictObject({ name: z.string().min(1).max(200), file: z.string().nullable(), version: Hash });
export type FlowRef = z.infer<typeof FlowRef>;
