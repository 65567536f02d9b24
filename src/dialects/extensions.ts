// What the owner adds to a dialect besides its settings: agents and recipes from files.
import type { Agent } from '../contract/agent.ts';
import type { Recipe } from './dex/recipe.ts';

export interface DialectExtensions {
  /** Agents of agent files whose names begin with the name of the dialect. The catalog has them; the dialect offers them by their short name. */
  agents?: Agent[];
  /** For Dex. */
  recipes?: Recipe[];
}
