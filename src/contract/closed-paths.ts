// Paths that the rules of a run close, as data that can be sent to another process.

export interface PathRule {
  closed: boolean;
  /** Null matches every path. */
  pattern: string | null;
  /** A built-in rule: a search for its files in nested folders leaves out folders of packages, and ends in a workspace that is too large. */
  builtIn?: true;
}

/**
 * The rules about paths of the workspace: one list per ruleset. In a list the last match decides; a path is closed if any list closes it.
 */
export interface ClosedPaths {
  read: PathRule[][];
  write: PathRule[][];
}
