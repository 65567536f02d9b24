/** The result of reading a file. Expected failures are values. */
export type FileText = { ok: true; text: string; truncated: boolean } | { ok: false; reason: string };

/** Reads small text files of a workspace, for first messages and workspace rules. Confined to the directory. Never rejects. */
export interface WorkspaceReader {
  read(workspace: string, path: string, maxChars: number): Promise<FileText>;
}
