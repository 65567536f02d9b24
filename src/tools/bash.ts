import { realpath } from 'node:fs/promises';
import { z } from 'zod';
import type { Sandbox } from '../ports/sandbox.ts';
import type { Subject } from '../ports/subject.ts';
import type { Rights, Tool, ToolResult } from '../ports/tool.ts';
import { explain, failure } from './refusal.ts';
import { loadParser } from './shell/analysis/parser.ts';
import { shellSubjects } from './shell/analysis/shell-subjects.ts';
import { type Environment, environmentOf, isBash, shellCommand, shellIn } from './shell/environment.ts';
import { type Done, runConfined } from './shell/execution/run-command.ts';
import { fits, printable } from './text.ts';

const Input = z.strictObject({
  command: z
    .string()
    .min(1)
    .refine(...fits(100_000))
    .refine((text) => !text.includes('\0'), 'has no NUL characters')
    .describe('Command line for bash, run in the workspace.'),
  timeout: z
    .number()
    .positive()
    .max(86_400)
    .optional()
    .describe('Seconds after which it is stopped. The limit of the run for one tool call (120 s if nobody changed it) holds as well.'),
});
type Input = z.infer<typeof Input>;

export interface BashOptions {
  /** What commands run in; null: nothing confines them. */
  sandbox: Sandbox | null;
  /** Why no command may be started at all, such as a sandbox that is required and not there. */
  closed?: string | null;
  /** The variables of which commands see PATH, HOME, LANG, TERM and TMPDIR; those of this process where it is absent. */
  env?: Environment;
  /** Variables by which what commands start is found again when this process is gone. Called for each command. */
  marks?(): Record<string, string>;
  /** Variables that the owner has granted to one agent. */
  secrets?(to: Pick<Rights, 'agent' | 'definition'>): Record<string, string>;
}

export function createBash(options: BashOptions): Tool<Input> {
  function subjectsOf(command: string, workspace: string): Subject[] {
    const { PATH = '' } = environmentOf(options.env ?? process.env, workspace);
    return shellSubjects(command, workspace, isBash(shellIn(PATH, workspace)));
  }

  return {
    name: 'bash',
    description:
      'Runs a command with bash in the workspace and shows what it writes (beginning and end, if it is much) and its exit code. Nothing carries over to the ' +
      'next call: no variables, no directory, no processes. What it leaves running in the background is ended. There is nothing on standard input. ' +
      (options.sandbox ? 'It runs in a sandbox: only the workspace and the system are there, and the network may be closed to it.' : ''),
    input: Input,
    readOnly: false,
    idempotent: false,
    maxOutputBytes: 32_768,
    prepare: loadParser,
    taint: ['untrusted-file'],
    subjects: (input, { workspace }) => subjectsOf(input.command, workspace),
    async execute(input, { workspace, signal, rights }) {
      signal.throwIfAborted();
      const cwd = await realpath(workspace).catch((error: unknown) => ({ error }));
      if (typeof cwd !== 'string') return failure(explain(cwd.error, workspace));
      const env = { ...environmentOf(options.env ?? process.env, cwd), ...options.secrets?.(rights), ...options.marks?.() };
      const argv = shellCommand(shellIn(env.PATH ?? '', cwd), input.command);
      const timeoutMs = input.timeout === undefined ? null : Math.ceil(input.timeout * 1000);
      // After a restart nobody may have prepared it yet.
      const subjects = async () => loadParser().then(() => subjectsOf(input.command, workspace));
      const done = await runConfined({ argv, cwd, env, timeoutMs, signal, subjects }, rights, options);
      return done.ok ? render(done, input.timeout) : failure(done.reason);
    },
  };
}

function render({ ran, notes: more, spoilt }: Done & { ok: true }, timeout: number | undefined): ToolResult {
  const said = ran.output.toWellFormed().replace(/\n$/, '');
  const notes: string[] = [];
  if (ran.cause === 'timeout') notes.push(`[stopped: it took longer than ${timeout} s]`);
  else if (ran.cause === 'stopped') notes.push('[stopped before it was done]');
  else if (ran.killedBy !== null) notes.push(`[ended by ${ran.killedBy}]`);
  else if (ran.code !== 0) notes.push(`[exit code ${ran.code}]`);
  if (ran.ended.length > 0) notes.push(`[ended what it left running: ${names(ran.ended)}]`);
  if (ran.alive.length > 0) notes.push(`[could not be ended: ${names(ran.alive)}]`);
  notes.push(...more.map((note) => `[${note}]`));
  const failed = ran.cause !== 'exit' || ran.code !== 0 || spoilt;
  const lines = said === '' ? notes : [said, ...notes];
  return { output: lines.join('\n') || '[no output]', ...(failed && { isError: true }) };
}

function names(left: { pid: number; name: string }[]): string {
  const more = left.length > 10 ? ` and ${left.length - 10} more` : '';
  return left
    .slice(0, 10)
    .map(({ pid, name }) => `${printable(name)} (${pid})`)
    .join(', ')
    .concat(more);
}
