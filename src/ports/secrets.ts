/**
 * Removes secrets from a text before it becomes part of a conversation or a fact (invariant 11). Deterministic; never throws. `shapes` also
 * removes strings that look like keys: for tool results, never for text that a model wrote.
 */
export type Redact = (text: string, shapes: boolean) => string;

/** Begins a text that comes in pieces. The function gets the next piece and returns what can be shown of the text; the rest follows later or not at all. */
export type RedactStream = () => (piece: string) => string;
