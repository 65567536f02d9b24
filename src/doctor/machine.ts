// What this machine offers for a real run: models that can be used now, and other agents. Shows names of variables, never their values.
import type { Env } from '../config/user-folders.ts';
import { findModelOptions } from '../models/advice.ts';
import { findAgentPrograms } from './probes.ts';

export interface MachineSummary {
  here: string[];
  /** A command that runs the first model; null if there is none. */
  next: string | null;
}

/** `program`: how the user calls Retinue. */
export async function inspectMachine(env: Env, program: string): Promise<MachineSummary> {
  const options = await findModelOptions({ env, probe: globalThis.fetch });
  const agents = findAgentPrograms(env);
  const models = options.map(({ reason, model }) => `${reason}: ${model}`);
  const [first] = options;
  return {
    here: [...models, ...(agents.length === 0 ? [] : [`agents on PATH: ${agents.join(', ')}`])],
    next: first ? first.command.replace(/^(.*)retinue run/, `$1${program} run`).replace('"…"', '"explain this repository"') : null,
  };
}
