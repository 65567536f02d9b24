/** `runId`: the run that the folder belongs to; null for one that no process completes or uses any more. */
export interface Leftover {
  path: string;
  runId: string | null;
}

/** Folders of runs on this machine, outside the store. No method rejects: what cannot be deleted is found again later. */
export interface RunFolders {
  /** Folders that exist now, whether their runs need them or not. */
  leftovers(): Promise<Leftover[]>;
  /** Deletes one of `leftovers`. */
  discardFolder(path: string): Promise<void>;
  /** Deletes the folders of these runs, which have ended. */
  forget(runIds: string[]): Promise<void>;
}
