import type { Stats } from 'node:fs';
import type { ToolResult } from '../ports/tool.ts';
import { shown } from './files/paths.ts';

/** Why a path was not opened, in words for the one who asked. */
export interface Refusal {
  ok: false;
  reason: string;
}

export function refuse(reason: string): Refusal {
  return { ok: false, reason };
}

/** A failure as a result that the model reads. */
export function failure(reason: string): ToolResult {
  return { output: reason.toWellFormed(), isError: true };
}

export function kindOf(stats: Pick<Stats, 'isDirectory' | 'isSymbolicLink' | 'isFIFO' | 'isSocket' | 'isFile'>): string {
  if (stats.isFile()) return 'a file';
  if (stats.isDirectory()) return 'a directory';
  if (stats.isSymbolicLink()) return 'a link';
  if (stats.isFIFO()) return 'a named pipe';
  return stats.isSocket() ? 'a socket' : 'a device';
}

export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | null)?.code ?? '';
}

/** What a failed system call means for the one who asked. */
export function explain(error: unknown, path: string): string {
  const what = shown(path);
  switch (codeOf(error)) {
    case 'ENOENT':
      return `${what} does not exist`;
    case 'ENOTDIR':
      return `${what}: a part of this path is not a directory`;
    case 'ELOOP':
      return `${what} is a link that leads nowhere, in a circle or out of the workspace`;
    case 'ENXIO':
      return `${what} is a socket or a device, not a file`;
    case 'EACCES':
    case 'EPERM':
      return `${what}: permission denied`;
    default:
      return `${what}: ${codeOf(error) || String(error)}`;
  }
}
