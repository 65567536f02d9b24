// The command line as a function: arguments and an environment (`Io`) in, an exit code out.
//
// This folder is the front-end for people and scripts. It parses arguments, calls the API and prints. It makes no decision about runs, and
// it touches files, processes and the environment only through `Io`.
//   args/      argument lists, flags and their values
//   commands/  one file per command
//   session/   opening the API, running to the end, stop signals, approval questions
//   progress/  what a run shows while it runs
//   output/    text, tables and JSON
import { RetinueError } from '../contract/error.ts';
import { sanitizeLine } from '../text/terminal.ts';
import { findCommand } from './args/find-command.ts';
import { type Args, type Argument, checkArgs } from './args/parse-args.ts';
import { type Command, helpFlag } from './command.ts';
import { reportError } from './errors.ts';
import type { Io } from './io.ts';
import { commandHelp, overviewText } from './output/help.ts';

export async function program(argv: string[], io: Io): Promise<number> {
  try {
    return await runInvocation(argv, io);
  } catch (error) {
    return reportError(error, io);
  }
}

async function runInvocation(argv: string[], io: Io): Promise<number> {
  const invocation = findCommand(argv);
  switch (invocation.kind) {
    case 'version':
      io.out(`${io.version}\n`);
      return 0;
    case 'overview':
      if (invocation.isRequested) io.out(overviewText(io.colour.out));
      else io.err(overviewText(io.colour.err));
      return invocation.isRequested ? 0 : 2;
    case 'help':
      io.out(commandHelp(invocation.command, { colour: io.colour.out, columns: io.columns() }));
      return 0;
    case 'command': {
      const { command } = invocation;
      const hasServer = command.flags.some(({ name }) => name === 'server');
      if (!hasServer) refuseServer(command, invocation.args, io);
      const args = checkArgs(invocation.args, [...command.flags, helpFlag]);
      checkPositionals(command, args);
      if (changesAnything(command, args)) await io.assertNotBelowRun();
      const commandIo = command.group === 'watch' || command.group === 'control' ? io : announceWorkspace(io);
      return await command.run(args, hasServer ? commandIo : { ...commandIo, serverUrl: null });
    }
  }
}

/**
 * Throws `usage` if a command that works only on this machine is given a server. RETINUE_SERVER counts for commands on records: they would change those
 * of the wrong machine.
 */
function refuseServer({ name, group }: Command, args: Argument[], { serverUrl }: Io): void {
  if (args.some((argument) => argument.kind === 'flag' && argument.name === 'server'))
    throw new RetinueError(
      'usage',
      `\`retinue ${name}\` works only on the machine that it runs on; it has no --server, so run it on the machine of the server`,
    );
  if (group === 'records' && serverUrl !== null)
    throw new RetinueError(
      'usage',
      `RETINUE_SERVER is set, but \`retinue ${name}\` works only on the machine that it runs on; unset the variable to use the runs of this machine`,
    );
}

/** Accepting a foreign database is a change, whatever the command does with it. */
function changesAnything({ changes }: Command, args: Args): boolean {
  return args.has('adopt') || (typeof changes === 'boolean' ? changes : changes(args));
}

/** Says once which folder is the workspace, if it is neither the current one nor given. Commands that only look at runs or control them say nothing. */
function announceWorkspace(io: Io): Io {
  let announced: string | null = null;
  const settings: Io['settings'] = async (flags) => {
    const loaded = await io.settings(flags);
    if (loaded.workspaceFrom === 'git' && loaded.workspace !== announced)
      io.err(
        `retinue: workspace: ${sanitizeLine(loaded.workspace)} (the git repository around this folder; \`-C .\` uses only this folder)\n`,
      );
    announced = loaded.workspace;
    return loaded;
  };
  return { ...io, settings };
}

function checkPositionals({ name, usage, positionals: { min, max } }: Command, { positionals }: Args): void {
  const given = positionals.length;
  // An empty word is a variable of a script that is not set. What a text may be is up to the command.
  if (positionals.slice(0, Number.isFinite(max) ? given : min).some((each) => each.trim() === ''))
    throw new RetinueError('usage', `an argument is empty; usage: retinue ${name} ${usage}`);
  if (given >= min && given <= max) return;
  const problem = given < min ? 'an argument is missing' : `unexpected argument \`${positionals.slice(max).join(' ')}\``;
  const task = given > max ? `; to run it as a task: retinue run "${name} ${positionals.join(' ')}"` : '';
  throw new RetinueError('usage', `${problem}; usage: retinue ${name} ${usage}${task}`);
}
