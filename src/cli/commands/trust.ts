import type { Settings, TrustItem } from '../../config/settings.ts';
import { RetinueError } from '../../contract/error.ts';
import { markInvisibleLine } from '../../text/invisible.ts';
import { formatPath, sanitizeLine } from '../../text/terminal.ts';
import { formatTable, paint } from '../../views/style.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, jsonFlag, workspaceFlag, yesFlag } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { confirm } from '../session/confirm.ts';

export const trustCommand: Command = {
  name: 'trust',
  group: 'setup',
  usage: '[--list | --revoke] [--yes] [flags]',
  summary: 'let the files of this workspace extend permissions and limits, and run its flows',
  about:
    'Until you trust them, retinue.config.json and the agent files of a workspace can only restrict, and its flows (`.retinue/flows`) are not run. This command shows what they ask for, asks you, and remembers the files by their content: a file that changes needs your trust again.',
  flags: [
    { name: 'list', help: 'list the trusted files of all workspaces' },
    { name: 'revoke', help: 'stop trusting this workspace' },
    yesFlag,
    jsonFlag,
    workspaceFlag,
  ],
  positionals: { min: 0, max: 0 },
  examples: [
    ['retinue trust', 'shows what the files ask for, then asks you'],
    ['retinue trust --revoke', 'takes the trust back'],
  ],
  exitCodes: 'command',
  changes: (args) => !args.has('list'),
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const [json, list, revoke] = [args.has('json'), args.has('list'), args.has('revoke')];
  if (list && revoke) throw new RetinueError('usage', '--list and --revoke cannot be combined; use one after the other');
  if (list) return listTrusted(io, json);
  const settings = await io.settings(commonSettings(args));
  if (revoke) return revokeTrust(io, settings.workspace, json);
  return grantTrust(io, settings, { json, yes: args.has('yes') });
}

async function grantTrust(io: Io, settings: Settings, { json, yes }: { json: boolean; yes: boolean }): Promise<number> {
  const { workspace } = settings;
  const files = [...settings.trust, ...settings.agents().trust, ...settings.flowTrust()];
  const open = files.filter(({ state }) => state !== 'trusted');
  const printResult = (trusted: boolean) => json && printJson(io, { workspace, trusted, files: files.map(itemToJson) });
  if (open.length === 0) {
    const why = files.length === 0 ? 'no file asks for trust' : 'everything is trusted already';
    io.err(`retinue: ${sanitizeLine(workspace)}: ${why}\n`);
    printResult(true);
    return 0;
  }
  const print = json ? io.err : io.out;
  print(describeRequests(open, { workspace, colour: json ? io.colour.err : io.colour.out }));
  if (!yes && !(await confirm(io, 'Trust these files?'))) {
    io.err('retinue: nothing was changed\n');
    printResult(false);
    return 1;
  }
  await io.trust.add(open);
  for (const file of open) file.state = 'trusted';
  io.err(`retinue: trusted until they change: ${open.map(({ path }) => formatPath(path)).join(', ')}\n`);
  printResult(true);
  return 0;
}

function describeRequests(items: TrustItem[], { workspace, colour }: { workspace: string; colour: boolean }): string {
  const lines = [`These files of ${sanitizeLine(workspace)} ask for settings that need your trust:`];
  for (const { path, state, gives } of items) {
    lines.push('', paint(colour, 'bold', formatPath(path) + (state === 'changed' ? ' (changed since you trusted it)' : '')));
    // Marked and not removed: every character of a trusted setting takes effect.
    for (const { what, why } of gives) lines.push(`  ${markInvisibleLine(what)}  ${paint(colour, 'dim', `now: ${sanitizeLine(why)}`)}`);
  }
  return `${lines.join('\n')}\n\n`;
}

async function listTrusted(io: Io, json: boolean): Promise<number> {
  const files = await io.trust.list();
  if (json) printJson(io, files);
  else if (files.length === 0) io.err('no file is trusted\n');
  else {
    const rows = files.map(({ path, at, state }) => [formatPath(path), state, at]);
    const columns = [{ title: 'FILE' }, { title: 'STATE' }, { title: 'SINCE' }];
    io.out(`${formatTable(columns, rows, { columns: 1000, colour: io.colour.out }).join('\n')}\n`);
  }
  return 0;
}

async function revokeTrust(io: Io, workspace: string, json: boolean): Promise<number> {
  const files = await io.trust.revoke(workspace);
  if (json) printJson(io, { workspace, revoked: files });
  else if (files.length === 0) io.err(`retinue: no file of ${sanitizeLine(workspace)} was trusted\n`);
  else io.out(files.map((file) => `no longer trusted: ${formatPath(file)}\n`).join(''));
  return 0;
}

function itemToJson({ path, state, gives }: TrustItem): Omit<TrustItem, 'hash'> {
  return { path, state, gives };
}
