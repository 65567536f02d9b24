// Whoever leaves at once must not leave processes behind: what still runs when this process exits is killed with it.
const running = new Set<number>();

function killRunning(): void {
  for (const pid of running) {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
}

/** The leader of a process group that must not outlive this process; the returned function takes it off the list. */
export function remember(pid: number): () => void {
  if (running.size === 0) process.on('exit', killRunning);
  running.add(pid);
  return () => {
    running.delete(pid);
    if (running.size === 0) process.off('exit', killRunning);
  };
}
