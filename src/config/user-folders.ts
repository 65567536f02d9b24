// The user's folders, from the environment.
import { userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';

export type Env = Record<string, string | undefined>;

/** Ignores a relative HOME, which would turn a workspace folder into the user's home, and asks the system instead. */
export function homeFolder(env: Env): string {
  return env.HOME && isAbsolute(env.HOME) ? env.HOME : userInfo().homedir;
}

/** Folder of what Retinue keeps on this machine and can lose: checkouts of runs. */
export function userStateFolder(env: Env): string {
  const xdg = env.XDG_STATE_HOME;
  return join(xdg && isAbsolute(xdg) ? xdg : join(homeFolder(env), '.local', 'state'), 'retinue');
}

/** Folder of the user's configuration, agents, trust list and database records. */
export function userConfigFolder(env: Env): string {
  const xdg = env.XDG_CONFIG_HOME;
  return join(xdg && isAbsolute(xdg) ? xdg : join(homeFolder(env), '.config'), 'retinue');
}
