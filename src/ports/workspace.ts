/** What became of reading a file for the first message or for the workspace's rules. Expected failures are values. */
export type FileText = { ok: true; text: string; truncated: boolean } | { ok: false; reason: string };

/** The workspace as the kernel needs it: reading whole small texts, confined to the directory. Never rejects. */
export interface WorkspaceReader {
  read(workspace: string, path: string, maxChars: number): Promise<FileText>;
}
