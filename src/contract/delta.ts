/** A piece of a model's answer while it streams. Deltas are not recorded, may be dropped and stay in their process. */
export type Delta = { type: 'delta'; runId: string; turn: number; kind: 'text' | 'reasoning' | 'tool'; text: string };
