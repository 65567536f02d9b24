import type { Agent } from '../contract/agent.ts';

/** The agents there are. Never fails after it is made: bad definitions are errors when it is built. */
export interface Catalog {
  get(name: string): Agent | null;
  /** In the order in which they are to be listed. */
  list(): Agent[];
}
