// How the tools report expected failures: a `Refusal` between their functions, an error result to the model.
import type { Stats } from 'node:fs';
import type { ToolResult } from '../ports/tool.ts';
import { displayPath } from './files/paths.ts';

/** Why something was not done, in words for the model. */
export interface Refusal {
  ok: false;
  reason: string;
}

export function createToolRefusal(reason: string): Refusal {
  return { ok: false, reason };
}

/** The error result that the model reads. */
export function createToolFailure(reason: string): ToolResult {
  return { output: reason.toWellFormed(), isError: true };
}

export function describeKind(stats: Pick<Stats, 'isDirectory' | 'isSymbolicLink' | 'isFIFO' | 'isSocket' | 'isFile'>): string {
  if (stats.isFile()) return 'a file';
  if (stats.isDirectory()) return 'a directory';
  if (stats.isSymbolicLink()) return 'a link';
  if (stats.isFIFO()) return 'a named pipe';
  return stats.isSocket() ? 'a socket' : 'a device';
}

/** The code of a system error (`ENOENT`); '' if there is none. */
export function findErrorCode(error: unknown): string {
  return (error as NodeJS.ErrnoException | null)?.code ?? '';
}

/** A failed file operation in words for the model. */
export function explainFileError(error: unknown, path: string): string {
  const shown = displayPath(path);
  switch (findErrorCode(error)) {
    case 'ENOENT':
      return `${shown} does not exist`;
    case 'ENOTDIR':
      return `${shown}: a part of this path is not a directory`;
    case 'ELOOP':
      return `${shown} is a link that leads nowhere, in a circle or out of the workspace`;
    case 'ENXIO':
      return `${shown} is a socket or a device, not a file`;
    case 'EACCES':
    case 'EPERM':
      return `${shown}: permission denied`;
    default:
      return `${shown}: ${findErrorCode(error) || String(error)}`;
  }
}
