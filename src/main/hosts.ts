// Where the tools of runs execute: in this process, or in a process per run.
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inlineExecutor } from '../hosts/inline.ts';
import { createProcessExecutor } from '../hosts/process.ts';
import type { Crash } from '../ports/crash.ts';
import type { ToolExecutor } from '../ports/tool-executor.ts';
import type { ProcessGuard } from '../system/process-guard.ts';
import { childWord } from './child-word.ts';

export const hostNames = ['inline', 'process'] as const;
export type HostName = (typeof hostNames)[number];

/** Finds tool executors by the names that facts record. */
export function createExecutors(guard: ProcessGuard, crash?: Crash): (name: string) => ToolExecutor | null {
  const command = [process.execPath, join(packageRoot(), 'bin', 'retinue.js'), childWord];
  const executors: Record<HostName, ToolExecutor> = {
    inline: inlineExecutor,
    process: createProcessExecutor({ command, env: process.env, marks: guard.marks, crash }),
  };
  return (name) => (Object.hasOwn(executors, name) ? executors[name as HostName] : null);
}

/** The folder of package.json: one up from dist/, two up from src/main/. */
export function packageRoot(): string {
  let folder = realpathSync(dirname(fileURLToPath(import.meta.url)));
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}
