/** The work of one run, as a host gets it. */
export interface HostWork {
  runId: string;
  /** Drives the run in this process until it has ended. Never rejects for an agent's failure. */
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
