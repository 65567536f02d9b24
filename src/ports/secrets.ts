/**
 * Takes secrets out of a text before it becomes part of a conversation or a fact (invariant 11). Pure and total: the same text gives the
 * same text, and it never throws. `shapes`: also what only looks like a key; for tool results, never for what a model wrote.
 */
export type Redact = (text: string, shapes: boolean) => string;
