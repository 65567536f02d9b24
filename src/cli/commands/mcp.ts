import { type McpClient, mcpClients } from '../../config/mcp-install/clients.ts';
import type { SettingsFlags } from '../../config/settings.ts';
import { RetinueError } from '../../contract/error.ts';
import { unknownNameMessage } from '../../text/suggest.ts';
import { cleanLine } from '../clean.ts';
import type { Args } from '../flags.ts';
import type { Io, McpInstallation } from '../io.ts';
import { hostOf, questionMs, runFlags, settle } from '../session.ts';

/** Clients wait about that long before they kill a server. */
const leaveMs = 5_000;

export async function run(args: Args, io: Io): Promise<number> {
  const [word, client] = args.words;
  if (word === undefined) return serve(args, io);
  if (word !== 'install')
    throw new RetinueError('usage', `${unknownNameMessage('word', word, ['install'])}; usage: retinue mcp install CLIENT`);
  if (client === undefined) throw new RetinueError('usage', `which client? retinue mcp install ${mcpClients.join('|')}`);
  if (!isClient(client)) throw new RetinueError('usage', unknownNameMessage('client', client, mcpClients));
  return install(client, args, io);
}

/** Ends when the client goes, or at a signal; a second signal leaves at once. Nothing but the protocol goes to standard output. */
async function serve(args: Args, io: Io): Promise<number> {
  const idle = ['print', 'project', 'yes'].find((name) => args.has(name));
  if (idle !== undefined) throw new RetinueError('usage', `--${idle} belongs to \`retinue mcp install CLIENT\``);
  const flags = runFlags(args);
  const name = args.value('dialect');
  const host = hostOf(args);
  const dialect = await io.dialect(name, await io.settings(flags));
  const said = sayingOnce(io);
  const stop = new AbortController();
  const ends: (() => void)[] = [];
  ends.push(io.onInterrupt((why) => (stop.signal.aborted ? why !== 'closed' && io.exitNow(130) : stop.abort())));
  try {
    await io.serveMcp({
      dialect,
      fixed: flags.workspace !== undefined,
      limits: flags.limits,
      stop: stop.signal,
      leaving: () => void ends.push(io.repeat(leaveMs, () => io.exitNow(1))),
      async open(workspace, { drive, asks }) {
        const there: SettingsFlags = workspace === null ? flags : { ...flags, workspace };
        const settings = await settle(said, { flags: there, agents: { chosen: undefined } });
        return io.open(settings, { drive, startsRuns: drive, dialect: name, host, askMs: asks ? questionMs : undefined });
      },
    });
    return 0;
  } finally {
    for (const end of ends) end();
  }
}

/** The workspace is looked at more than once; what is left out of its configuration is told once. */
function sayingOnce(io: Io): Io {
  const said = new Set<string>();
  const err = (text: string) => {
    if (!said.has(text)) io.err(text);
    said.add(text);
  };
  return { ...io, err };
}

async function install(client: McpClient, args: Args, io: Io): Promise<number> {
  const settings = runFlags(args);
  const dialect = args.value('dialect');
  // A name that there is none of is refused here, not by a server that nobody sees start.
  await io.dialect(dialect, await io.settings({ ...settings, limits: {}, rules: [] }));
  const apart = ['print', 'project', 'yes', 'workspace'];
  const flags = args.given.filter(({ name }) => !apart.includes(name)).flatMap(({ name, value }) => [`--${name}`, value]);
  const plan = await io.mcpInstall.plan({ client, flags, project: args.has('project'), workspace: settings.workspace });
  const removed = plan.removed.map((key) => `\`${cleanLine(key)}\``).join(', ');
  const going = removed === '' ? '' : `This goes out of it, because it is for a server at an address: ${removed}\n`;
  if (args.has('print')) {
    io.err(`${cleanLine(plan.file)}:\n${going}`);
    io.out(plan.snippet);
    return 0;
  }
  if (plan.same) {
    io.err(`retinue: ${cleanLine(plan.file)} has it already\n`);
    return 0;
  }
  io.out(`${plan.exists ? 'This goes into' : 'This would be the new file'} ${cleanLine(plan.file)}:\n\n${plan.snippet}\n${going}`);
  if (!args.has('yes') && !(await agreed(io))) {
    io.err('retinue: nothing was changed\n');
    return 1;
  }
  return written(plan, await io.mcpInstall.apply(plan), io);
}

function written(plan: McpInstallation, backup: string | null, io: Io): number {
  const kept = backup === null ? '' : `; as it was before: ${cleanLine(backup)}`;
  io.err(`retinue: written${kept}. Start ${plan.client} again and look at its list of MCP servers.\n`);
  return 0;
}

async function agreed(io: Io): Promise<boolean> {
  const answer = await io.ask('Write it? [y/N] ');
  if (answer === null)
    throw new RetinueError('usage', 'nobody can be asked here: run it in a terminal, or add --yes after reading the above');
  return /^y(es)?$/i.test(answer.trim());
}

function isClient(name: string): name is McpClient {
  return (mcpClients as readonly string[]).includes(name);
}
