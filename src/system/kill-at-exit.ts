// Kills started process groups that are still running when this process exits.
const groups = new Set<number>();

function killGroups(): void {
  for (const pid of groups) {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has already ended.
    }
  }
}

/** `pid` is the leader of a process group. Call the returned function once the group has ended. */
export function killAtExit(pid: number): () => void {
  if (groups.size === 0) process.on('exit', killGroups);
  groups.add(pid);
  return () => {
    groups.delete(pid);
    if (groups.size === 0) process.off('exit', killGroups);
  };
}
