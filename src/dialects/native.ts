import type { Dialect } from '../ports/dialect.ts';
import { delegate } from './native/delegate.ts';
import { followTools } from './native/follow-up.ts';

export const native: Dialect = {
  name: 'native',
  description: "Retinue's own five tools: delegate, delegate_wait, delegate_message, delegate_read, delegate_cancel",
  tools: [delegate, ...followTools],
  reader: 'delegate_read',
};
