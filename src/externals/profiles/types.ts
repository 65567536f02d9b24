import type { ModelEndpoint } from '../../ports/model.ts';
import type { ToolTable } from '../tool-map.ts';

/** What a profile gets to know about a session. */
export interface ProfileContext {
  /** A folder that lasts as long as the run; the agent's settings and sessions go there, never into the user's. */
  home: string;
  /** Null if the agent uses its own login. */
  gate: { url: string; token: string; model: string; wire: ModelEndpoint['wire'] } | null;
  /** The agent's own program, as it was found. */
  program: string;
  /** Whether a sandbox confines the agent. */
  isConfined: boolean;
}

/** How an external agent is started. Data and small functions only. */
export interface Profile {
  name: string;
  /** The agent's own program: its name, and the oldest version that was tried. */
  program: string;
  minVersion: readonly [number, number, number];
  install: string;
  /** A program that speaks ACP for it, if it does not do so itself. */
  adapter?: { program: string; install: string } | undefined;
  /** Arguments of the program, or of the adapter if there is one. */
  args: readonly string[];
  /** Protocols of models that it can use through the gate. */
  wires: readonly ModelEndpoint['wire'][];
  /** Environment that points it at the gate and switches updates, telemetry and settings of the workspace off. */
  env(context: ProfileContext): Record<string, string>;
  /** Folders in its home that must exist. */
  folders?: readonly string[] | undefined;
  /**
   * Paths of the workspace with settings that it would use, and that no option switches off. A sandbox hides them; without one, the agent is not started
   * where they exist.
   */
  closed?: readonly string[] | undefined;
  /** `_meta` of `session/new`. */
  meta?: Record<string, unknown> | undefined;
  /** Folders of the user's own login, which the agent needs to use it. */
  loginFolders(home: string): string[];
  tools: ToolTable;
}
