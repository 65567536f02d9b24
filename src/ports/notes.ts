/** A memory of a workspace: kept over runs. Titles are unique; adding one again replaces its text. */
export interface Memory {
  title: string;
  text: string;
  /** ISO 8601. */
  at: string;
}

/** What is remembered for a workspace (its real path). Rejects with RetinueError `store_*` only. */
export interface Memories {
  put(workspace: string, memory: Memory): Promise<void>;
  /** Newest first. `words`: only those in which every word occurs, whatever its case. */
  list(workspace: string, words?: string): Promise<Memory[]>;
  /** False when there was none of this title. */
  remove(workspace: string, title: string): Promise<boolean>;
}

/** An entry of a tree's scratchpad, labelled with the run that wrote it. */
export interface ScratchpadEntry {
  runId: string;
  text: string;
  at: string;
}

/** The one thing that siblings share (invariant 12): they may add and read, and change nothing. Rejects with RetinueError `store_*` only. */
export interface Scratchpads {
  append(rootId: string, entry: ScratchpadEntry): Promise<void>;
  /** In the order written. */
  read(rootId: string): Promise<ScratchpadEntry[]>;
  /** Takes all of a tree's away for good, when the tree is erased. */
  remove(rootId: string): Promise<void>;
}
