// The `bash` tool. What rules see of a command is in `shell/analysis`, how it is run is in `shell/execution`.
import { realpath } from 'node:fs/promises';
import { z } from 'zod';
import type { Subject } from '../ports/subject.ts';
import type { Rights, Tool, ToolResult } from '../ports/tool.ts';
import { watchFiles } from './files/changed-files.ts';
import inputSchemas from './input-schemas.json' with { type: 'json' };
import { createToolFailure, explainFileError } from './refusal.ts';
import { createEnvironment, findShell, isBash, type ShellEnvironment, shellArguments } from './shell/environment.ts';
import type { CommandOptions, CommandResult } from './shell/execution/run-command.ts';
import { escapeControls, refineMaxBytes } from './text.ts';

const Input = z.strictObject({
  command: z
    .string()
    .min(1)
    .refine(...refineMaxBytes(100_000))
    .refine((text) => !text.includes('\0'), 'must not contain NUL characters')
    .describe('Command line for bash, run in the workspace.'),
  timeout: z
    .number()
    .positive()
    .max(86_400)
    .optional()
    .describe(
      'Seconds after which the command is stopped. The time limit of the run for one tool call (120 s by default) applies as well.',
    ),
});
type Input = z.infer<typeof Input>;

export interface BashOptions extends CommandOptions {
  /** Commands see only PATH, HOME, LANG, TERM and TMPDIR of it. Defaults to the environment of this process. */
  env?: ShellEnvironment;
  /** Variables by which started processes are found again after this process has died. Called for each command. */
  marks?(): Record<string, string>;
  /** Variables that the owner has granted to one agent. */
  secrets?(to: Pick<Rights, 'agent' | 'definition'>): Record<string, string>;
}

/** Null before `loadAnalysis` has resolved. The analysis is loaded for the first command: it is large, and most runs use no shell. */
let analysis: typeof import('./shell/analysis/shell-subjects.ts') | null = null;

async function loadAnalysis(): Promise<void> {
  const [loaded, { loadParser }] = await Promise.all([import('./shell/analysis/shell-subjects.ts'), import('./shell/analysis/parser.ts')]);
  await loadParser();
  analysis = loaded;
}

export function createBash(options: BashOptions): Tool<Input> {
  function readSubjects(command: string, workspace: string): Subject[] {
    const { PATH = '' } = createEnvironment(options.env ?? process.env, workspace);
    if (analysis === null) throw new Error('a command was analysed before loadAnalysis resolved');
    return analysis.shellSubjects(command, workspace, {
      hasBash: isBash(findShell(PATH, workspace)),
      isConfined: options.sandbox !== null,
    });
  }

  return {
    name: 'bash',
    description:
      'Runs a command with bash in the workspace and returns its output (only the beginning and the end if it is long) and its exit code. Each call is ' +
      'independent: variables, the current directory and processes do not carry over. Background processes are ended when the command ends. Standard input ' +
      `is empty. ${options.sandbox ? 'The command runs in a sandbox: it sees only the workspace and the system, and may have no network.' : ''}`,
    get input() {
      return Input;
    },
    inputSchema: inputSchemas.bash,
    readOnly: false,
    idempotent: false,
    maxOutputBytes: 32_768,
    prepare: loadAnalysis,
    taint: ['untrusted-file'],
    subjects: (input, { workspace }) => readSubjects(input.command, workspace),
    preview: async () => options.closed ?? null,
    async execute(input, { workspace, readable, files, signal, rights }) {
      signal.throwIfAborted();
      const cwd = await realpath(workspace).catch((error: unknown) => ({ error }));
      if (typeof cwd !== 'string') return createToolFailure(explainFileError(cwd.error, workspace));
      const env = { ...createEnvironment(options.env ?? process.env, cwd), ...options.secrets?.(rights), ...options.marks?.() };
      const argv = shellArguments(findShell(env.PATH ?? '', cwd), input.command);
      const timeoutMs = input.timeout === undefined ? null : Math.ceil(input.timeout * 1000);
      // After a restart the analysis may not be loaded yet.
      const subjects = async () => loadAnalysis().then(() => readSubjects(input.command, workspace));
      const { hasWriteTools, runCommand } = await import('./shell/execution/run-command.ts');
      const listChanges = options.sandbox === null || hasWriteTools(rights) ? watchFiles(cwd) : () => [];
      const done = await runCommand({ argv, cwd, env, timeoutMs, signal, rights, readable, files, subjects }, options);
      if (!done.ok) return createToolFailure(done.reason);
      const artifacts = listChanges();
      return { ...renderResult(done, input.timeout), ...(artifacts.length > 0 && { artifacts }) };
    },
  };
}

function renderResult({ result, notes: more, hasLeftProtected }: CommandResult, timeout: number | undefined): ToolResult {
  const output = result.output.toWellFormed().replace(/\n$/, '');
  const notes: string[] = [];
  if (result.cause === 'timeout') notes.push(`[stopped: it took longer than ${timeout} s]`);
  else if (result.cause === 'stopped') notes.push('[stopped before it was done]');
  else if (result.killedBy !== null) notes.push(`[ended by ${result.killedBy}]`);
  else if (result.code !== 0) notes.push(`[exit code ${result.code}]`);
  if (result.ended.length > 0) notes.push(`[ended what it left running: ${formatProcesses(result.ended)}]`);
  if (result.alive.length > 0) notes.push(`[could not be ended: ${formatProcesses(result.alive)}]`);
  notes.push(...more.map((note) => `[${note}]`));
  const hasFailed = result.cause !== 'exit' || result.code !== 0 || hasLeftProtected;
  const lines = output === '' ? notes : [output, ...notes];
  return { output: lines.join('\n') || '[no output]', ...(hasFailed && { isError: true }) };
}

function formatProcesses(processes: { pid: number; name: string }[]): string {
  const more = processes.length > 10 ? ` and ${processes.length - 10} more` : '';
  return processes
    .slice(0, 10)
    .map(({ pid, name }) => `${escapeControls(name)} (${pid})`)
    .join(', ')
    .concat(more);
}
