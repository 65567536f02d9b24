// Runs the user's notification command: no shell, an environment without keys, the message as JSON on standard input.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { sanitizeLine } from '../text/terminal.ts';
import { createEnvironment } from '../tools/shell/environment.ts';
import type { NotifyMessage } from './message.ts';

/** Needed to show something on the user's desktop. */
const desktopVariables = [
  'DISPLAY',
  'WAYLAND_DISPLAY',
  'XDG_RUNTIME_DIR',
  'DBUS_SESSION_BUS_ADDRESS',
  'XAUTHORITY',
  'USER',
  'LOGNAME',
  'SHELL',
];
const maxErrorChars = 300;

export interface CommandOptions {
  command: readonly string[];
  env: Record<string, string | undefined>;
  home: string;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Rejects with the reason if it cannot be started, does not end in time, or ends with a code other than 0. */
export async function sendToCommand(message: NotifyMessage, { command, env, home, timeoutMs, signal }: CommandOptions): Promise<void> {
  const [program = '', ...args] = command;
  const file = program.startsWith('~/') ? join(home, program.slice(2)) : program;
  const child = spawn(file, args, {
    cwd: home,
    env: createCommandEnvironment(message, env),
    stdio: ['pipe', 'ignore', 'pipe'],
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    killSignal: 'SIGKILL',
  });
  let errorText = '';
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    errorText = (errorText + part).slice(-maxErrorChars);
  });
  // A program that does not read its input is fine.
  child.stdin.on('error', () => {});
  child.stdin.end(`${JSON.stringify(message)}\n`);
  try {
    await new Promise<void>((resolve, reject) => {
      child.on('error', (error) => reject(error.name === 'AbortError' ? new Error(describeStop(signal, timeoutMs)) : error));
      // Not `close`: a process that it leaves behind may keep the pipe open.
      child.on('exit', (code, killedBy) => {
        const detail = errorText.trim() === '' ? '' : `: ${sanitizeLine(errorText)}`;
        if (code === 0) resolve();
        else reject(new Error(`it ended with ${killedBy ?? `code ${code}`}${detail}`));
      });
    });
  } finally {
    child.stderr.destroy();
    child.stdin.destroy();
  }
}

function describeStop(signal: AbortSignal, timeoutMs: number): string {
  return signal.aborted ? 'it was still running when this command ended' : `it was stopped after ${timeoutMs / 1000} s`;
}

/** Only what a notification needs: no keys, and no directory of the workspace on PATH. */
function createCommandEnvironment(message: NotifyMessage, env: CommandOptions['env']): Record<string, string> {
  const desktop = desktopVariables.flatMap((name) => (env[name] ? [[name, env[name]]] : []));
  return {
    ...createEnvironment(env, message.workspace),
    ...(Object.fromEntries(desktop) as Record<string, string>),
    RETINUE_NOTIFY_EVENT: message.event,
    RETINUE_NOTIFY_TEXT: message.text,
    RETINUE_NOTIFY_RUN: message.runId,
    RETINUE_NOTIFY_WORKSPACE: message.workspace,
    ...(message.event === 'ended' ? { RETINUE_NOTIFY_STATUS: message.status } : {}),
    ...(message.event === 'question' ? { RETINUE_NOTIFY_QUESTION: message.questionId } : {}),
  };
}
