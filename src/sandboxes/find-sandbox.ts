// Finds the sandbox of this system. This folder confines commands; which commands run, and with which rights, is decided by the bash tool.
//
//   bubblewrap.ts   Linux: mounts.ts and *-mounts.ts say what a command sees, mount-check.ts verifies it,
//                   cgroup.ts or limit-watcher.ts enforce limits on processes and memory
//   seatbelt.ts     macOS
import type { SandboxFound } from '../ports/sandbox.ts';
import type { BubblewrapOptions } from './bubblewrap.ts';

/** Returns a sandbox only if it was tried and works. Never rejects. */
export async function findSandbox(options: BubblewrapOptions, platform: NodeJS.Platform = process.platform): Promise<SandboxFound> {
  if (platform === 'linux') return (await import('./bubblewrap.ts')).findBubblewrap(options);
  if (platform === 'darwin') return (await import('./seatbelt.ts')).findSeatbelt(options);
  return { ok: false, reason: `there is no sandbox for ${platform}`, advice: 'use Linux or macOS; on Windows, WSL' };
}
