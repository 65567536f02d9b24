import type { Call } from './conversation.ts';
import { readLines } from './limits.ts';

/** The calls that a survey is made of. */

export function list(path: string): Call {
  return { tool: 'list', input: { path } };
}

export function glob(pattern: string, path: string): Call {
  return { tool: 'glob', input: { pattern, path } };
}

export function grep(pattern: string, path: string, files?: string): Call {
  return { tool: 'grep', input: { pattern, path, ...(files !== undefined && { glob: files }) } };
}

export function read(path: string, limit: number = readLines): Call {
  return { tool: 'read', input: { path, limit } };
}

/** Everything below a folder. */
export function below(folder: string): Call {
  return glob('**/*', folder);
}

/** Files with these endings: for `grep` that means at any depth. */
export function withEndings(extensions: string[]): string {
  return extensions.length === 1 ? `*.${extensions[0]}` : `*.{${extensions.join(',')}}`;
}
