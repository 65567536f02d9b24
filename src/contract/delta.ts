/** A live-only piece of a stream. It may be dropped, is never journaled and does not cross processes. */
export type Delta = { type: 'delta'; runId: string; turn: number; kind: 'text' | 'reasoning' | 'tool'; text: string };
