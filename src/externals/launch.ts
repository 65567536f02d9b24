// Starts the program of an external agent and ends it with everything it has started.
//
//  1. In a sandbox it has its own process namespace, which ends with this process, however that dies. Without one, its processes are found by their group,
//     by a mark and by descent, and a guard ends them if this process dies.
//  2. Its standard error is always read; the last 4 KiB are kept for messages.
//  3. `end` asks the processes to stop, and kills them after 2 s.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { RetinueError } from '../contract/error.ts';
import type { Sandbox, SandboxRequest } from '../ports/sandbox.ts';
import { trackDescendants } from '../system/descendants.ts';
import { dieWithParent } from '../system/die-with-parent.ts';
import { killAtExit } from '../system/kill-at-exit.ts';
import { monitorGroup, monitorNamespace } from '../system/process-monitor.ts';
import { createProcessGroup } from '../system/remaining-processes.ts';

export interface LaunchRequest {
  argv: string[];
  cwd: string;
  env: Record<string, string>;
  /** Variables by which a guard finds the processes after this process has died. */
  marks: Record<string, string>;
  /** Null: no sandbox confines it. */
  confined: { sandbox: Sandbox; request: Omit<SandboxRequest, 'argv' | 'env' | 'workspace'> } | null;
}

export interface LaunchedProgram {
  input: NonNullable<ChildProcess['stdin']>;
  output: NonNullable<ChildProcess['stdout']>;
  /** Resolves with a sentence when the program has ended. */
  exited: Promise<string>;
  /** The last line of its error output. */
  lastError(): string;
  end(): Promise<void>;
}

const keptErrorBytes = 4096;
const markVariable = 'RETINUE_EXTERNAL';
// Enters the control groups, then becomes the sandbox or the program.
const script = 'while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; exec "$@"';
/** The first process of the sandbox is a shell, which starts the program. */
const inShell = ['/bin/sh', '-c', 'exec "$@"', 'sh'];

/** Rejects with `agent_program`. */
export async function launchProgram(request: LaunchRequest): Promise<LaunchedProgram> {
  const { cwd, confined } = request;
  const mark = randomBytes(8).toString('hex');
  const env = { ...request.env, ...request.marks, [markVariable]: mark };
  const made = confined
    ? await confined.sandbox.confine({ ...confined.request, argv: [...inShell, ...request.argv], env, workspace: cwd })
    : null;
  if (made?.ok === false) throw new RetinueError('agent_program', `the agent was not started: ${made.reason}`);
  const sandboxed = made?.confined ?? null;
  const hasNamespace = sandboxed?.namespace === true;
  const argv = sandboxed ? sandboxed.argv : [...dieWithParent(), ...request.argv];
  const child = spawn('/bin/sh', ['-c', script, 'sh', ...(sandboxed?.join ?? []), '--', ...argv], {
    cwd: hasNamespace ? '/' : cwd,
    env: sandboxed?.env ?? env,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', ...(hasNamespace ? (['pipe', 'pipe'] as const) : [])],
  });
  const failed = new Promise<Error>((resolve) => child.once('error', resolve));
  if (child.pid === undefined) throw new RetinueError('agent_program', `the agent could not be started: ${(await failed).message}`);
  const forget = killAtExit(child.pid);
  const tracker = hasNamespace ? null : trackDescendants(child.pid);
  const group = createProcessGroup(child.pid, `${markVariable}=${mark}`, tracker ?? undefined);
  const monitor = sandboxed && hasNamespace ? monitorNamespace(child, sandboxed, group) : monitorGroup(child, group);
  const { stdin, stdout, stderr } = child as { [K in 'stdin' | 'stdout' | 'stderr']: NonNullable<ChildProcess[K]> };
  for (const pipe of [stdin, stdout, stderr]) pipe.on('error', () => {});
  let errors = Buffer.alloc(0);
  stderr.on('data', (chunk: Buffer) => {
    errors = Buffer.from(Buffer.concat([errors, chunk]).subarray(-keptErrorBytes));
  });
  const lastError = () => errors.toString('utf8').trim().split('\n').at(-1)?.trim().slice(0, 500) ?? '';
  let ending: Promise<void> | null = null;

  async function end(): Promise<void> {
    stdin.end();
    await monitor.end();
    tracker?.stop();
    for (const pipe of [stdin, stdout, stderr]) pipe.destroy();
    await sandboxed?.release();
    child.unref();
    forget();
  }

  return {
    input: stdin,
    output: stdout,
    lastError,
    exited: monitor.exited.then(() => describeEnd(monitor.result(), lastError())),
    end: () => {
      ending ??= end();
      return ending;
    },
  };
}

function describeEnd(
  { code, killedBy, notStarted }: { code: number | null; killedBy: string | null; notStarted: string | null },
  line: string,
): string {
  const what = notStarted
    ? `the sandbox could not be created (${notStarted})`
    : code === null
      ? `it was ended by ${killedBy}`
      : `it ended with exit code ${code}`;
  return line === '' ? what : `${what}: ${line}`;
}
