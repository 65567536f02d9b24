// What the screen needs from outside: the API, time, and a way to end.
import type { Api } from '../../api/api.ts';

/** The part of the API that the screen uses. */
export type ScreenApi = Pick<
  Api,
  'ps' | 'tree' | 'stream' | 'position' | 'logs' | 'show' | 'questions' | 'cancel' | 'pause' | 'release' | 'resume' | 'message' | 'answer'
>;

export interface Timers {
  now(): number;
  /** Returns a function that cancels it. */
  after(ms: number, run: () => void): () => void;
}

/** Size and look of the terminal, and the time of the frame. */
export interface View {
  columns: number;
  rows: number;
  now: number;
  colour: boolean;
}
