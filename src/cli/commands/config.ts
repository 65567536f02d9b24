import type { Settings } from '../../config/settings.ts';
import { formatPath, sanitizeLine } from '../../text/terminal.ts';
import { formatTable, paint } from '../../views/style.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';

export const configCommand: Command = {
  name: 'config',
  group: 'setup',
  usage: '[flags]',
  summary: 'show all settings and where each value comes from',
  about: 'Also shows which settings of the workspace are ignored because it is not trusted; see `retinue trust`.',
  flags: [jsonFlag, ...commonFlags],
  positionals: { min: 0, max: 0 },
  examples: [['retinue config', 'every value with its file, variable or flag']],
  exitCodes: 'command',
  changes: false,
  run,
};

/** Needs no database: a broken one must not hide its configuration. */
async function run(args: Args, io: Io): Promise<number> {
  const settings = await io.settings(commonSettings(args));
  if (args.has('json')) printJson(io, settingsToJson(settings));
  else io.out(describeSettings(settings, io));
  return 0;
}

function settingsToJson(settings: Settings): object {
  return {
    workspace: settings.workspace,
    files: settings.files,
    values: Object.fromEntries(settings.sources.map(({ key, value, from }) => [key, { value, from }])),
    rules: listRules(settings),
    notices: settings.notices,
  };
}

function listRules(settings: Settings): { kind: 'owner' | 'narrowing'; owner: string; rules: string[] }[] {
  return [
    ...settings.ownerRules.map((set) => ({ kind: 'owner' as const, ...set })),
    ...settings.narrowingRules.map((set) => ({ kind: 'narrowing' as const, ...set })),
  ];
}

const workspaceSources: Record<Settings['workspaceFrom'], string> = {
  flag: '--workspace',
  git: 'the git repository around the current folder',
  'current folder': 'the current folder',
};

function describeSettings(settings: Settings, io: Io): string {
  const rows = settings.sources.map(({ key, value, from }) => [key, typeof value === 'string' ? value : JSON.stringify(value), from]);
  const values = formatTable(
    [{ title: 'KEY' }, { title: 'VALUE' }, { title: 'FROM', flexible: true }],
    [['workspace', settings.workspace, workspaceSources[settings.workspaceFrom]], ...rows].map((row) => row.map(sanitizeLine)),
    { columns: io.outTTY ? Math.max(200, io.columns()) : 1000, colour: io.colour.out, style: (_, column) => (column === 2 ? 'dim' : null) },
  );
  const rules = listRules(settings).flatMap(({ kind, owner, rules: list }) => [
    `${sanitizeLine(owner)}${kind === 'narrowing' ? ' (can only restrict)' : ''}`,
    ...list.map((rule) => `  ${sanitizeLine(rule)}`),
  ]);
  const files = settings.files.map((file) => `${formatPath(file.path)}${file.found ? '' : ' (does not exist)'}`);
  const section = (title: string, lines: string[]) =>
    lines.length === 0 ? [] : ['', paint(io.colour.out, 'bold', title), ...lines.map((line) => `  ${line}`)];
  return `${[
    ...values,
    ...section('Rules, after the built-in ones', rules),
    ...section('Files', files),
    ...section('Ignored', settings.notices.map(sanitizeLine)),
  ].join('\n')}\n`;
}
