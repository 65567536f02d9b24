/** The result of reading a file. Expected failures are values. */
export type FileText = { ok: true; text: string; truncated: boolean } | { ok: false; reason: string };

/** The same, with what rules match for the file that was opened. */
export type OpenedText = { ok: true; text: string; truncated: boolean; subjects: string[] } | { ok: false; reason: string };

/** A workspace as prompts describe it. */
export interface WorkspaceInfo {
  /** `linux`, `darwin`, … */
  platform: string;
  /** Null if the workspace is not in a git repository. `isDirty` is null if that was not found out in time. */
  git: { branch: string | null; isDirty: boolean | null } | null;
}

/** Looks at workspaces for system prompts and first messages. Never rejects. */
export interface WorkspaceReader {
  /** Reads a small text file. Confined to the directory. */
  read(workspace: string, path: string, maxChars: number): Promise<OpenedText>;
  describe(workspace: string): Promise<WorkspaceInfo>;
}
