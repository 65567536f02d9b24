import { RetinueError } from '../../contract/error.ts';
import { unknownNameMessage } from '../../text/suggest.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { paint } from '../../views/style.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { loadSettings } from '../session/open-api.ts';

export const notifyCommand: Command = {
  name: 'notify',
  group: 'setup',
  usage: 'test [flags]',
  summary: 'send a test notification to your command or webhook',
  about:
    'Retinue can tell you when a run that you started ends, and when a call waits for approval. Set `notify` in your own configuration file, for example `{"notify": {"command": ["notify-send", "Retinue has news"]}}`; `retinue config` shows the current value. The exit code is 1 if the test notification could not be sent.',
  flags: [jsonFlag, ...commonFlags],
  positionals: { min: 1, max: 1 },
  examples: [['retinue notify test', 'after a change of the configuration']],
  exitCodes: 'command',
  changes: true,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const [verb] = args.positionals as [string];
  if (verb !== 'test') throw new RetinueError('usage', `${unknownNameMessage('argument', verb, ['test'])}; usage: retinue notify test`);
  const settings = await loadSettings(io, { flags: commonSettings(args) });
  const sent = await io.testNotification(settings);
  if (sent.length === 0) {
    const file = settings.files.find(({ role }) => role === 'user')?.path ?? 'your configuration file';
    throw new RetinueError('usage', `no notifications are configured; set \`notify.command\` or \`notify.webhook\` in ${file}`);
  }
  if (args.has('json')) printJson(io, sent);
  else for (const { to, failure } of sent) io.out(`${describeResult(failure, to, io)}\n`);
  return sent.some(({ failure }) => failure !== null) ? 1 : 0;
}

function describeResult(failure: string | null, to: string, io: Io): string {
  if (failure === null) return `${paint(io.colour.out, 'green', '✓')} ${to}: sent`;
  return `${paint(io.colour.out, 'red', '✗')} ${to}: ${sanitizeLine(failure)}`;
}
