import type { Agent } from '../contract/agent.ts';

/** The available agents. Definitions are checked when the catalog is built, so its methods never fail. */
export interface Catalog {
  get(name: string): Agent | null;
  /** In display order. */
  list(): Agent[];
}
