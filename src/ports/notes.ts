// Notes that are not part of a run's facts: memories of a workspace and the scratchpad of a tree.

/** A memory of a workspace, available to later runs. Titles are unique: adding one again replaces its text. */
export interface Memory {
  title: string;
  text: string;
  /** ISO 8601. */
  at: string;
}

/** Memories by workspace (its real path). Rejects only with RetinueError `store_*`. */
export interface Memories {
  put(workspace: string, memory: Memory): Promise<void>;
  /** Newest first. `words`: only memories that contain every word, ignoring case. */
  list(workspace: string, words?: string): Promise<Memory[]>;
  /** False if there is no memory with this title. */
  remove(workspace: string, title: string): Promise<boolean>;
}

/** An entry of a tree's scratchpad, with the run that wrote it. */
export interface ScratchpadEntry {
  runId: string;
  text: string;
  at: string;
}

/** The only state that siblings share (invariant 12): runs append and read, but never change entries. Rejects only with RetinueError `store_*`. */
export interface Scratchpads {
  append(rootId: string, entry: ScratchpadEntry): Promise<void>;
  /** Oldest first. */
  read(rootId: string): Promise<ScratchpadEntry[]>;
  /** Deletes all entries of a tree that is being erased. */
  remove(rootId: string): Promise<void>;
}
