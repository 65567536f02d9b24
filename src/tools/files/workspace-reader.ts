import type { FileHandle } from 'node:fs/promises';
import type { FileText, WorkspaceReader } from '../../ports/workspace.ts';
import { explain } from '../refusal.ts';
import { openFile } from './confine.ts';
import { cut } from './read-lines.ts';

/** Workspaces as directories of this machine. */
export const directories: WorkspaceReader = {
  async read(workspace, path, maxChars) {
    const opened = await openFile(workspace, path);
    if (!opened.ok) return opened;
    await using file = opened.file;
    try {
      return await textOf(file, opened.path, maxChars);
    } catch (error) {
      return { ok: false, reason: explain(error, opened.path) };
    }
  },
};

async function textOf(file: FileHandle, path: string, maxChars: number): Promise<FileText> {
  // A UTF-16 unit takes at most three bytes: this many hold all that is kept and at least one character more.
  const bytes = await head(file, maxChars * 3 + 4);
  if (bytes.subarray(0, 8192).includes(0)) return { ok: false, reason: `${path} is a binary file` };
  const text = bytes.toString('utf8').replaceAll('\0', '\ufffd');
  return { ok: true, text: cut(text, maxChars), truncated: text.length > maxChars };
}

async function head(file: FileHandle, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}
