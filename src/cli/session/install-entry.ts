// Writing the entry of a server into the configuration of another program: `retinue mcp install` and `retinue acp install`.
import type { McpInstallation } from '../../config/mcp-install/install.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import type { Args, Flag } from '../args/parse-args.ts';
import type { Io } from '../io.ts';
import { confirm } from './confirm.ts';

/** Prints the entry with --print; otherwise shows it, asks and writes it. `present`: the file has the entry now, so the server can be tested. */
export async function installEntry(plan: McpInstallation, args: Args, io: Io): Promise<'printed' | 'declined' | 'present'> {
  const file = sanitizeLine(plan.file);
  const keys = plan.removed.map((key) => `\`${sanitizeLine(key)}\``).join(', ');
  const removed = keys === '' ? '' : `These keys are removed, because they belong to a server at an address: ${keys}\n`;
  if (args.has('print')) {
    io.err(`${file}:\n${removed}`);
    io.out(plan.snippet);
    return 'printed';
  }
  if (plan.same) {
    io.err(`retinue: ${file} already has this entry\n`);
    return 'present';
  }
  io.out(`${plan.exists ? 'Entry to add to' : 'New file'} ${file}:\n\n${plan.snippet}\n${removed}`);
  if (!args.has('yes') && !(await confirm(io, 'Write it?'))) {
    io.err('retinue: nothing was changed\n');
    return 'declined';
  }
  const backup = await io.mcpInstall.apply(plan);
  io.err(`retinue: written${backup === null ? '' : `; the previous version is ${sanitizeLine(backup)}`}\n`);
  return 'present';
}

/** The given flags that become flags of the installed command. `own`: names of those that belong to `install`. */
export function listInstalledFlags(args: Args, { flags, own }: { flags: Flag[]; own: string[] }): string[] {
  const isSwitch = (name: string) => flags.some((flag) => flag.name === name && flag.value === undefined);
  return args.given
    .filter(({ name }) => !own.includes(name))
    .flatMap(({ name, value }) => (isSwitch(name) ? [`--${name}`] : [`--${name}`, value]));
}
