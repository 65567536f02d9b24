import { realpath } from 'node:fs/promises';
import { z } from 'zod';
import type { Tool, ToolResult } from '../ports/tool.ts';
import { explain, failure } from './refusal.ts';
import { type Environment, environmentOf, shellIn } from './shell/environment.ts';
import { type Ran, run } from './shell/run.ts';
import { shellSubjects } from './shell/subjects.ts';
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
  /** Whether `wrap` puts commands into a sandbox: the model is told. */
  sandboxed: boolean;
  /** What to start in the place of this program and these arguments, so that it runs in a sandbox. */
  wrap?(argv: string[], workspace: string): string[];
  /** The variables of which commands see PATH, HOME, LANG, TERM and TMPDIR; those of this process where it is absent. */
  env?: Environment;
  /** Variables by which what commands start is found again when this process is gone. Called for each command. */
  marks?(): Record<string, string>;
}

export function createBash(options: BashOptions): Tool<Input> {
  return {
    name: 'bash',
    description:
      'Runs a command with bash in the workspace and shows what it writes (beginning and end, if it is much) and its exit code. Nothing carries over to the ' +
      'next call: no variables, no directory, no processes. What it leaves running in the background is ended. There is nothing on standard input. ' +
      (options.sandboxed ? 'It runs in a sandbox: what lies outside the workspace, and the network, may be closed to it.' : ''),
    input: Input,
    readOnly: false,
    portable: true,
    idempotent: false,
    maxOutputBytes: 32_768,
    taint: ['untrusted-file'],
    subjects: (input) => shellSubjects(input.command),
    async execute(input, { workspace, signal }) {
      signal.throwIfAborted();
      const cwd = await realpath(workspace).catch((error: unknown) => ({ error }));
      if (typeof cwd !== 'string') return failure(explain(cwd.error, workspace));
      const env = { ...environmentOf(options.env ?? process.env), ...options.marks?.() };
      const argv = [shellIn(env.PATH ?? '', cwd), '-c', input.command];
      const timeoutMs = input.timeout === undefined ? null : Math.ceil(input.timeout * 1000);
      const ran = await run({ argv: options.wrap?.(argv, cwd) ?? argv, cwd, env, timeoutMs, signal });
      return render(ran, input.timeout);
    },
  };
}

function render(ran: Ran, timeout: number | undefined): ToolResult {
  if (!ran.ok) return failure(ran.reason);
  const said = ran.output.toWellFormed().replace(/\n$/, '');
  const notes: string[] = [];
  if (ran.cause === 'timeout') notes.push(`[stopped: it took longer than ${timeout} s]`);
  else if (ran.cause === 'stopped') notes.push('[stopped before it was done]');
  else if (ran.killedBy !== null) notes.push(`[ended by ${ran.killedBy}]`);
  else if (ran.code !== 0) notes.push(`[exit code ${ran.code}]`);
  if (ran.ended.length > 0) notes.push(`[ended what it left running: ${names(ran.ended)}]`);
  if (ran.alive.length > 0) notes.push(`[could not be ended: ${names(ran.alive)}]`);
  const failed = ran.cause !== 'exit' || ran.code !== 0;
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
