// Commands of a user to whom file permissions apply: the user who runs the tests or, where that is root, `nobody`.
//
// `nobody` may not be able to reach this clone, for example below /root. So Node and the program are put into a folder that every user can read.
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, linkSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { build } from 'rolldown';
import { makeWorkspace } from '../tools/support.ts';

export const isRoot = process.getuid?.() === 0;
const nobody = 65_534;

/** A workspace that belongs to the plain user. */
export function makePlainWorkspace(): string {
  const { workspace } = makeWorkspace();
  if (isRoot) for (const folder of [dirname(workspace), workspace]) chownSync(folder, nobody, nobody);
  return workspace;
}

export interface PlainUser {
  /** Runs a command in the sandbox, in a process of its own. */
  start(workspace: string, command: string): ChildProcess;
  /** The same, until it has ended. Returns its output. */
  run(workspace: string, command: string): Promise<string>;
  [Symbol.dispose](): void;
}

export async function createPlainUser(): Promise<PlainUser> {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-plain-user-'));
  chmodSync(folder, 0o755);
  const node = isRoot ? copyOfNode(folder) : process.execPath;
  await build({
    input: join(import.meta.dirname, 'once.ts'),
    platform: 'node',
    // Only rules without a sandbox need it.
    external: ['web-tree-sitter'],
    output: { dir: folder, format: 'esm', entryFileNames: 'once.mjs' },
  });

  function start(workspace: string, command: string): ChildProcess {
    const user = isRoot ? { uid: nobody, gid: nobody } : {};
    const env = { PATH: process.env.PATH ?? '' };
    return spawn(node, [join(folder, 'once.mjs'), workspace, 'on', command], {
      ...user,
      env,
      cwd: '/',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  }

  return {
    start,
    run: (workspace, command) => text(start(workspace, command).stdout as NodeJS.ReadableStream),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function copyOfNode(folder: string): string {
  const copy = join(folder, 'node');
  try {
    linkSync(process.execPath, copy);
  } catch {
    // Another file system.
    copyFileSync(process.execPath, copy);
  }
  return copy;
}
