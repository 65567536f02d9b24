// Where runs execute: here, or each in a process of its own.
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inlineHost } from '../hosts/inline.ts';
import { createProcessHost } from '../hosts/process.ts';
import type { Crash } from '../ports/crash.ts';
import type { Host } from '../ports/host.ts';
import type { ProcessGuard } from '../system/process-guard.ts';
import { childWord } from './child-word.ts';

export const hostNames = ['inline', 'process'] as const;
export type HostName = (typeof hostNames)[number];

/** `asked`: what somebody said, which holds for every run. `usual`: what the dialect has for delegated ones. */
export function hostsFor(
  names: { asked: HostName | undefined; usual: HostName | undefined },
  guard: ProcessGuard,
  crash?: Crash,
): { host: Host; delegatedHost: Host; hostNamed(name: string): Host | null } {
  const make = (name: HostName | undefined) => (name === 'process' ? processHost(guard, crash) : inlineHost);
  const hostNamed = (name: string) => (hostNames.includes(name as HostName) ? make(name as HostName) : null);
  return { host: make(names.asked), delegatedHost: make(names.asked ?? names.usual), hostNamed };
}

function processHost(guard: ProcessGuard, crash: Crash | undefined): Host {
  const command = [process.execPath, join(packageRoot(), 'bin', 'retinue.js'), childWord];
  return createProcessHost({ command, env: process.env, marks: guard.marks, crash });
}

/** The folder of package.json: one up from dist/, two up from src/main/. */
export function packageRoot(): string {
  let folder = realpathSync(dirname(fileURLToPath(import.meta.url)));
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}
