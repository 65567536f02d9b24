// Retinue's own dialect.
import type { Dialect } from '../ports/dialect.ts';
import { delegateTool } from './native/delegate.ts';
import { followUpTools } from './native/follow-up.ts';

export const native: Dialect = {
  name: 'native',
  description: "Retinue's own six tools: delegate, delegate_wait, delegate_message, delegate_read, delegate_cancel, delegate_apply",
  tools: [delegateTool, ...followUpTools],
  reader: 'delegate_read',
};
