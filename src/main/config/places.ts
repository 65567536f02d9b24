import { userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';

export type Env = Record<string, string | undefined>;

/** A relative HOME would make a folder of the workspace the user's own: then the system's word counts. */
export function home(env: Env): string {
  return env.HOME && isAbsolute(env.HOME) ? env.HOME : userInfo().homedir;
}

/** Where the user's own configuration, agents and trust are kept. */
export function ownFolder(env: Env): string {
  const xdg = env.XDG_CONFIG_HOME;
  return join(xdg && isAbsolute(xdg) ? xdg : join(home(env), '.config'), 'retinue');
}
