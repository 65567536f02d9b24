/**
 * Removes secrets from a text before it becomes part of a conversation or a fact (invariant 11). Deterministic; never throws. `shapes` also
 * removes strings that look like keys: for tool results, never for text that a model wrote.
 */
export type Redact = (text: string, shapes: boolean) => string;
