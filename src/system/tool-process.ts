// The process that executes the tools of one run. Another process finds it by a variable in its environment.
import { readdirSync, readFileSync } from 'node:fs';

/** Holds the id of the run. */
export const toolRunVariable = 'RETINUE_TOOL_RUN';

/** Null if there is no such process, if it belongs to another user, or if the system has no /proc. */
export function findToolProcess(runId: string): number | null {
  const wanted = `${toolRunVariable}=${runId}`;
  try {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    const pid = pids.find((name) => readEnvironment(name).includes(wanted));
    return pid === undefined ? null : Number(pid);
  } catch {
    return null;
  }
}

function readEnvironment(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}
