import type { SandboxFound } from '../ports/sandbox.ts';
import type { BubblewrapOptions } from './bubblewrap.ts';

/** The sandbox of this system, where it was seen to work. Never rejects. */
export async function findSandbox(options: BubblewrapOptions, platform: NodeJS.Platform = process.platform): Promise<SandboxFound> {
  if (platform === 'linux') return (await import('./bubblewrap.ts')).findBubblewrap(options);
  if (platform === 'darwin') return (await import('./seatbelt.ts')).findSeatbelt(options);
  return { ok: false, reason: `there is no sandbox for ${platform}`, advice: 'use Linux or macOS; on Windows, WSL' };
}
