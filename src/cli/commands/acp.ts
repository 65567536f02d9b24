import type { Api } from '../../api/api.ts';
import { type AcpEditor, acpEditors } from '../../config/acp-install/editors.ts';
import type { Settings } from '../../config/settings.ts';
import { RetinueError } from '../../contract/error.ts';
import { unknownNameMessage } from '../../text/suggest.ts';
import { sanitizeText } from '../../text/terminal.ts';
import type { Args, Flag } from '../args/parse-args.ts';
import { defaultQuestionMs, runSettings } from '../args/settings-flags.ts';
import { addDirFlag, type Command, commonFlags, ruleFlags, sandboxFlag, yesFlag } from '../command.ts';
import type { AcpService, AcpWorkspace, Io } from '../io.ts';
import { installEntry, listInstalledFlags } from '../session/install-entry.ts';
import { loadSettings, warnAboutDatabase } from '../session/open-api.ts';
import { serveUntilClosed, withoutRepeatedMessages } from '../session/serve-streams.ts';

const agentFlags: Flag[] = [
  { name: 'agent', value: 'NAME', help: 'the agent that answers prompts (default: general; see `retinue agents`)' },
  { name: 'model', value: 'NAME', help: 'the model, as `provider/model`' },
  ...ruleFlags,
  sandboxFlag,
  addDirFlag,
  { name: 'timeout', value: 'TIME', help: 'time limit of each prompt: `90s`, `10m`; a bare number is seconds' },
  { name: 'max-turns', value: 'N', help: 'limit of model calls of each prompt, 1 to 500' },
  { name: 'max-depth', value: 'N', help: 'levels of delegation; 0: the agent cannot delegate' },
  { name: 'budget-usd', value: 'USD', help: 'spending limit of each prompt, with everything that it delegates' },
  { name: 'budget-tokens', value: 'N', help: 'token limit of each prompt, with everything that it delegates' },
];

/** Flags of `install`; its other flags become flags of the agent. */
const installFlags: Flag[] = [
  { name: 'print', help: 'install: print the entry without writing it' },
  { ...yesFlag, help: 'install: do not ask for confirmation' },
];

export const acpCommand: Command = {
  name: 'acp',
  group: 'integrate',
  usage: '[flags] | install EDITOR [--print] [--yes] [flags]',
  summary: 'be the agent of an editor that speaks ACP, such as Zed, a JetBrains IDE or Neovim',
  about:
    'The editor starts this command and talks to it over standard input and output (Agent Client Protocol, version 1). A session works in the folder that the editor names; each prompt is a run, and later prompts continue its conversation. Calls that need approval are asked in the editor; calls that a rule denies are not. When the editor exits, a run that is still working is paused: open the session again, or use `retinue resume`.\n\n' +
    '`install` adds the agent to the configuration of zed or jetbrains: it shows the change, asks before writing, and then starts the agent once to test it. For neovim it prints the lines to add. Further flags of `install` become flags of the agent.',
  flags: [...agentFlags, ...installFlags, ...commonFlags.filter(({ name }) => name !== 'workspace')],
  positionals: { min: 0, max: 2 },
  examples: [
    ['retinue acp install zed', 'shows the change and asks before writing'],
    [
      'retinue acp install jetbrains --model anthropic/claude-sonnet-5 --budget-usd 2',
      'with a model, and a spending limit for each prompt',
    ],
    ['retinue acp install neovim', 'prints what to add to your configuration'],
    ['retinue acp --deny "bash:git push*"', 'what an editor runs'],
  ],
  exitCodes: 'command',
  changes: (args) => args.positionals[0] === 'install' && !args.has('print'),
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const [verb, editor] = args.positionals;
  if (verb === undefined) return serve(args, io);
  if (verb !== 'install')
    throw new RetinueError('usage', `${unknownNameMessage('argument', verb, ['install'])}; usage: retinue acp install EDITOR`);
  if (editor === undefined) throw new RetinueError('usage', `the editor is missing; usage: retinue acp install ${acpEditors.join('|')}`);
  if (!isEditor(editor)) throw new RetinueError('usage', unknownNameMessage('editor', editor, acpEditors));
  return install(editor, args, io);
}

/** Standard output carries only the protocol. */
async function serve(args: Args, io: Io): Promise<number> {
  const misplaced = installFlags.find(({ name }) => args.has(name));
  if (misplaced) throw new RetinueError('usage', `--${misplaced.name} is a flag of \`retinue acp install EDITOR\``);
  await io.assertNotBelowRun();
  const flags = runSettings(args);
  // The folder of a session may have other settings; those of the user and the flags are the same.
  await io.assertRunnable(await io.settings(flags), { database: flags.db !== undefined });
  return serveUntilClosed(io, (ending) => io.serveAcp({ ...createService(args, withoutRepeatedMessages(io)), ...ending }));
}

function createService(args: Args, io: Io): Pick<AcpService, 'defaults' | 'openWorkspace' | 'sources'> {
  const flags = runSettings(args);
  const agent = args.value('agent');
  return {
    defaults: { agent, limits: flags.limits },
    async openWorkspace({ folder, readable }): Promise<AcpWorkspace> {
      const addDirs = [...(flags.addDirs ?? []), ...readable];
      const settings = await loadSettings(io, {
        flags: { ...flags, workspace: folder, isClientFolder: true, ...(addDirs.length === 0 ? {} : { addDirs }) },
        agents: { chosen: agent },
      });
      if (agent !== undefined) assertAgentKnown(agent, settings);
      const warn = (message: string) => warnAboutDatabase(io, message);
      return {
        path: settings.workspace,
        serverNames: Object.keys(settings.mcpServers),
        models: { configured: settings.model?.value ?? null, available: await io.models.keyed() },
        open: (servers) =>
          io.open(
            { ...settings, mcpServers: { ...settings.mcpServers, ...servers } },
            { drive: true, startsRuns: true, warn, askMs: defaultQuestionMs },
          ),
        read: async (work) => useAndClose(await io.open(settings, { drive: false, warn }), work),
        contextWindow: (model) => io.models.contextWindow(settings, model),
        attach: (name, text) => io.files.attach(settings.workspace, name, text),
        claim: (files, runId) => io.files.claim(settings.workspace, files, runId),
      };
    },
    sources: async () =>
      (await io.workspaces.list()).map((database) => ({
        id: database.db,
        read: async (work) => io.workspaces.read(database, work).catch(() => null),
      })),
  };
}

function assertAgentKnown(agent: string, settings: Settings): void {
  const names = settings.agents().list.map(({ name }) => name);
  if (!names.includes(agent)) throw new RetinueError('unknown_agent', `--agent: ${unknownNameMessage('agent', agent, names)}`);
}

async function useAndClose<T>(api: Api, work: (api: Api) => Promise<T>): Promise<T> {
  try {
    return await work(api);
  } finally {
    await api.close();
  }
}

async function install(editor: AcpEditor, args: Args, io: Io): Promise<number> {
  // A wrong value is rejected here, where the user sees it, and not when the editor starts the agent.
  const settings = await io.settings({ ...runSettings(args), limits: {}, rules: [] });
  const installation = await io.acpInstall.plan({
    editor,
    flags: listInstalledFlags(args, { flags: acpCommand.flags, own: installFlags.map(({ name }) => name) }),
  });
  if (installation.kind === 'instructions') {
    io.out(installation.text);
    return 0;
  }
  const { plan } = installation;
  const installed = await installEntry(plan, args, io);
  if (installed !== 'present') return installed === 'printed' ? 0 : 1;
  const tried = await io.acpInstall.test(plan.server);
  if (!tried.ok) {
    io.err(`retinue: tested: the agent does not start: ${sanitizeText(tried.reason)}\n`);
    return 1;
  }
  const { missing } = await io.mcpInstall.variables(settings);
  io.err('retinue: tested: the agent starts and opens a session\n');
  if (missing !== null) io.err(`retinue: ${missing} is not set here; set it where ${editor} starts\n`);
  if (settings.model === null) io.err(`retinue: prompts will be refused: ${sanitizeText(await io.models.advice())}\n`);
  io.err(`retinue: restart ${editor}, then choose retinue as the agent\n`);
  return 0;
}

function isEditor(name: string): name is AcpEditor {
  return (acpEditors as readonly string[]).includes(name);
}
