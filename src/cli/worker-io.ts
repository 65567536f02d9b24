// What `retinue worker` needs from outside.

export interface WorkerRequest {
  /** What other processes call it. Default: the name of the host and the process id. */
  name: string | undefined;
  queues: string[];
  /** Trees at a time. */
  concurrency: number;
  /** Trees of one group at a time, over all workers. */
  perGroup: number | undefined;
  /** Trees of one queue at a time, over all workers. */
  perQueue: number | undefined;
  /** How long a tree has to reach its next step when the worker stops. */
  graceMs: number;
  /** The folder for checkouts of repositories. Default: the user's state folder. */
  workspaceRoot: string | undefined;
  /** Folders of this machine that briefs may name as their workspace. */
  shared: string[];
  /** Where `/healthz` and `/readyz` are answered; null: nowhere. */
  health: { host: string; port: number } | null;
  /** How long a call that needs approval waits for an answer. */
  askMs: number;
  /** Log lines as JSON. */
  json: boolean;
}

export interface RunningWorker {
  /** Hands back what it drives and closes everything. */
  stop(): Promise<void>;
}
