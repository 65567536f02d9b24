// What a run's process and its supervisor say to each other: one JSON value a line, over one pipe.
import { z } from 'zod';
import type { Fact } from '../../contract/fact.ts';
import type { RemoteAsk, RemoteStart } from '../../ports/host.ts';

export type ToChild =
  /**
   * Sent when the process has every fact that was there already, and not before: of a run that goes on, a part of them would call for steps
   * that were taken long ago. The brief and the grant stand in the facts.
   */
  | { type: 'start'; start: RemoteStart }
  | { type: 'fact'; fact: Fact }
  /** `value`: whether the run goes on, for a step; whether a call may be begun, for one. */
  | { type: 'reply'; id: number; value: 'go on' | 'over' }
  /** `paused`: another process goes on with the run. */
  | { type: 'stop'; paused: boolean }
  | { type: 'ping' };

export type FromChild = (RemoteAsk & { id: number }) | { type: 'pong' };

const id = z.int().min(1);
const at = z.strictObject({ turn: z.int(), index: z.int() });

/** What the process says is not believed: it is looked at here, and by the run's desk after that. */
export const FromChild: z.ZodType<FromChild> = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('step'), id, kind: z.enum(['ask', 'tools', 'nudge', 'park', 'end']), seq: z.int().min(0) }),
  z.strictObject({ type: z.literal('may'), id, at }),
  z.strictObject({ type: z.literal('call'), id, at }),
  z.strictObject({ type: z.literal('result'), id, at, given: z.unknown() }),
  z.strictObject({ type: z.literal('pong') }),
]);

/** The pipe, in the process. */
export const channelFd = 3;
