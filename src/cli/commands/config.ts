import type { Settings } from '../../config/settings.ts';
import { cleanLine } from '../clean.ts';
import type { Args } from '../flags.ts';
import { paint, table } from '../format.ts';
import type { Io } from '../io.ts';
import { printJson } from '../json.ts';
import { groundFlags } from '../session.ts';

/** Needs no database: a broken one must not hide how it is configured. */
export async function run(args: Args, io: Io): Promise<number> {
  const settings = await io.settings(groundFlags(args));
  if (args.has('json')) printJson(io, shape(settings));
  else io.out(text(settings, io));
  return 0;
}

function shape(settings: Settings): object {
  return {
    workspace: settings.workspace,
    files: settings.files,
    values: Object.fromEntries(settings.sources.map(({ key, value, from }) => [key, { value, from }])),
    rules: rulesOf(settings),
    notices: settings.notices,
  };
}

function rulesOf(settings: Settings): { kind: 'owner' | 'narrowing'; owner: string; rules: string[] }[] {
  return [
    ...settings.ownerRules.map((set) => ({ kind: 'owner' as const, ...set })),
    ...settings.narrowingRules.map((set) => ({ kind: 'narrowing' as const, ...set })),
  ];
}

function text(settings: Settings, io: Io): string {
  const rows = settings.sources.map(({ key, value, from }) => [key, typeof value === 'string' ? value : JSON.stringify(value), from]);
  const lines = table(
    [{ title: 'KEY' }, { title: 'VALUE' }, { title: 'FROM', flexible: true }],
    [['workspace', settings.workspace, ''], ...rows].map((row) => row.map(cleanLine)),
    { columns: io.outTTY ? Math.max(200, io.columns()) : 1000, colour: io.colour.out, style: (_, column) => (column === 2 ? 'dim' : null) },
  );
  const bold = (title: string) => paint(io.colour.out, 'bold', title);
  const rules = rulesOf(settings).flatMap(({ kind, owner, rules: list }) => [
    `  ${cleanLine(owner)}${kind === 'narrowing' ? ' (can only narrow)' : ''}`,
    ...list.map((rule) => `    ${cleanLine(rule)}`),
  ]);
  const files = settings.files.map((file) => `  ${cleanLine(file.path)}${file.found ? '' : ' (not there)'}`);
  const part = (title: string, body: string[]) => (body.length === 0 ? [] : ['', bold(title), ...body]);
  return `${[
    ...lines,
    ...part('Rules, after the built-in ones', rules),
    ...part('Files', files),
    ...part(
      'Left out',
      settings.notices.map((notice) => `  ${cleanLine(notice)}`),
    ),
  ].join('\n')}\n`;
}
