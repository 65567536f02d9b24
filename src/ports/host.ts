/** The work of one run, as a host gets it. */
export interface HostWork {
  runId: string;
  /** Drives the run in this process as far as it goes. Never rejects; the kernel writes the run's end after `execute` has resolved. */
  drive(signal: AbortSignal): Promise<void>;
}

/**
 * Where a run executes. `execute` resolves when nothing of the run is left: its processes are reaped.
 * It rejects with RetinueError `crashed` or `no_result` when the place broke down; the kernel then ends the run with it.
 */
export interface Host {
  name: string;
  execute(work: HostWork, signal: AbortSignal): Promise<void>;
}
