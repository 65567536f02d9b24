// Reads files of a workspace for the kernel, confined like the tools.
import type { FileHandle } from 'node:fs/promises';
import type { FileText, OpenedText, WorkspaceReader } from '../../ports/workspace.ts';
import { explainFileError } from '../refusal.ts';
import { openFile } from './confine.ts';
import { openedSubjects } from './path-subjects.ts';
import { isBinary, readStart } from './read-file.ts';
import { cutChars } from './read-lines.ts';
import { describeWorkspace, type WorkspaceInfoOptions } from './workspace-info.ts';

/** For workspaces that are directories on this machine. */
export function createWorkspaceReader(options: WorkspaceInfoOptions): WorkspaceReader {
  return { read: readWorkspaceFile, describe: (workspace) => describeWorkspace(workspace, options) };
}

/** Reads a small text file of a workspace. Never rejects. */
export async function readWorkspaceFile(workspace: string, path: string, maxChars: number): Promise<OpenedText> {
  const opened = await openFile(workspace, path);
  if (!opened.ok) return opened;
  await using file = opened.file;
  try {
    const text = await readText(file, opened.path, maxChars);
    return text.ok ? { ...text, subjects: openedSubjects(path, workspace, opened.path) } : text;
  } catch (error) {
    return { ok: false, reason: explainFileError(error, opened.path) };
  }
}

async function readText(file: FileHandle, path: string, maxChars: number): Promise<FileText> {
  // A UTF-16 unit takes at most three bytes, so this many bytes contain `maxChars` units and at least one character more.
  const bytes = await readStart(file, maxChars * 3 + 4);
  if (isBinary(bytes)) return { ok: false, reason: `${path} is a binary file` };
  const text = bytes.toString('utf8').replaceAll('\0', '\ufffd');
  return { ok: true, text: cutChars(text, maxChars), truncated: text.length > maxChars };
}
