import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

export type Env = Record<string, string | undefined>;

export function home(env: Env): string {
  return env.HOME || homedir();
}

/** Where the user's own configuration, agents and trust are kept. */
export function ownFolder(env: Env): string {
  const xdg = env.XDG_CONFIG_HOME;
  return join(xdg && isAbsolute(xdg) ? xdg : join(home(env), '.config'), 'retinue');
}
