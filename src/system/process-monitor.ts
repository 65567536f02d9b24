// Observes and brings about the end of a command: through its process group and a mark or, in a sandbox, through its process namespace.
import type { ChildProcess } from 'node:child_process';
import type { Duplex, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SandboxedCommand } from '../ports/sandbox.ts';
import { controlFd, infoFd, listNamespace } from './namespace.ts';
import { endRemaining, findRemaining, graceMs, type ProcessGroup, type RemainingProcess } from './remaining-processes.ts';
import { trySignal } from './signals.ts';

export interface ProcessMonitor {
  /** Resolves when the first process of the command has ended. */
  exited: Promise<void>;
  /** Processes that the command started and that are still running. */
  remaining(): RemainingProcess[];
  /** Asks the remaining processes to stop and kills them after 2 s. Returns those that could not be ended. */
  end(): Promise<RemainingProcess[]>;
  /** `code` is null if a signal ended the command or it could not be ended. `notStarted`: why it was not started, perhaps ''; null if it was. */
  result(): { code: number | null; killedBy: string | null; notStarted: string | null };
}

export function monitorGroup(child: ChildProcess, group: ProcessGroup): ProcessMonitor {
  return {
    exited: waitForExit(child),
    remaining: () => findRemaining(group),
    end: () => endRemaining(group),
    result: () => ({ code: child.exitCode, killedBy: child.signalCode, notStarted: null }),
  };
}

const pollMs = 20;
/** How long the kernel may take to remove a namespace. */
const reapMs = 1000;
const maxMessageChars = 200;

/** Follows the protocol of `system/namespace.ts`: waits for `begun`, lets the sandbox check itself, then releases the command. */
export function monitorNamespace(child: ChildProcess, sandboxed: SandboxedCommand, group: ProcessGroup): ProcessMonitor {
  const control = child.stdio[controlFd] as Duplex;
  const received = collectStart(control);
  let init: number | null = null;
  void collectStart(child.stdio[infoFd] as Readable, (text) => {
    const pid = Number(/"child-pid":\s*(\d+)/.exec(text)?.[1]);
    if (init !== null || !Number.isSafeInteger(pid) || pid <= 1) return;
    init = pid;
    start();
  });
  /** Null once the command was released; '' until then, or why the sandbox refused it. */
  let notStarted: string | null = '';
  const finished = Promise.withResolvers<void>();
  control.on('data', () => {
    start();
    if (parseExitCode(received()) !== null) finished.resolve();
  });

  function start(): void {
    if (init === null || notStarted !== '' || !received().startsWith('begun\n')) return;
    notStarted = sandboxed.begun?.(init) ?? null;
    if (notStarted === null) control.write('go\n');
    else control.destroy();
  }

  const exited = waitForExit(child);
  const listRemaining = () => (init === null ? [] : listNamespace(init));
  const remaining = () => listRemaining().map(({ pid, name }): RemainingProcess => ({ pid, name, group: 0, isCertain: true }));

  async function end(): Promise<RemainingProcess[]> {
    let left = listRemaining();
    for (const { hostPid } of left) {
      trySignal(hostPid, 'SIGTERM');
      // A stopped process receives SIGTERM only after SIGCONT.
      trySignal(hostPid, 'SIGCONT');
    }
    for (const until = performance.now() + graceMs; left.length > 0 && performance.now() < until; left = listRemaining())
      await sleep(pollMs);
    control.destroy();
    // The end of the first process ends everything in the namespace; the end of the sandbox helper ends the first process.
    if (left.length > 0 && init !== null) trySignal(init, 'SIGKILL');
    if (notStarted !== null) killGroup();
    const late = setTimeout(killGroup, 200);
    await Promise.race([exited, sleep(reapMs, undefined, { ref: false })]);
    clearTimeout(late);
    child.stdio[infoFd]?.destroy();
    if (!hasExited(child)) return remaining();
    return notStarted === null ? [] : endRemaining(group, 0);
  }

  /**
   * While the sandbox is being made, its helper has a child that waits for it and does not notice its death. Both are in the process group until the
   * child becomes the first process, which ends when `control` closes.
   */
  function killGroup(): void {
    trySignal(-group.pid, 'SIGKILL');
    child.kill('SIGKILL');
  }

  return {
    exited: Promise.race([finished.promise, exited]),
    remaining,
    end,
    result() {
      const code = parseExitCode(received());
      const killedBy = code === null ? (child.signalCode ?? 'SIGKILL') : null;
      return { code, killedBy, notStarted };
    },
  };
}

/** Collects the first characters of a stream. The returned function gives them so far. */
function collectStart(stream: Readable, onText?: (text: string) => void): () => string {
  let text = '';
  stream.on('data', (chunk: Buffer) => {
    text = (text + chunk.toString('latin1')).slice(0, maxMessageChars);
    onText?.(text);
  });
  // A pipe that breaks shows in the end of the process.
  stream.on('error', () => {});
  return () => text;
}

function parseExitCode(received: string): number | null {
  const code = /^begun\n(\d{1,3})\n/.exec(received)?.[1];
  return code === undefined ? null : Number(code);
}

function waitForExit(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (hasExited(child)) resolve();
    else child.once('exit', () => resolve());
  });
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
