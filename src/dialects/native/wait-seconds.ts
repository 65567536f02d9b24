// The parameter for waiting times.
import { z } from 'zod';
import { maxMs } from '../../contract/limits.ts';

/** Seconds that a tool call may wait, up to what a timer can hold. */
export const WaitSeconds = z
  .number()
  .min(0)
  .max(Math.floor(maxMs / 1000));
