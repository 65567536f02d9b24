import type { Fact } from '../../contract/fact.ts';
import type { FileChange } from '../../contract/http.ts';
import { formatPath, sanitizeText } from '../../text/terminal.ts';
import { countCommands, describeWithoutLines, isCutDiff } from '../../views/changes.ts';
import { formatPlural, shortId } from '../../views/format.ts';
import { paint, type Style } from '../../views/style.ts';
import { padToWidth, textWidth } from '../../views/width.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag, serverFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { withApi } from '../session/open-api.ts';

export const diffCommand: Command = {
  name: 'diff',
  group: 'watch',
  usage: 'ID [--stat] [flags]',
  summary: 'show what a run and its children changed in files',
  about:
    'Prints the recorded change of each edit as a unified diff, file by file. Also works while the run is live. It shows what the file tools changed at that time, not how the files look now. Files that shell commands changed are named without a diff; a notice says if there were any commands.\n\n' +
    'For a run with its own copy of the files (--worktree, --repository) it prints everything that differs at its end, as a patch; in a file or a pipe exactly as git wants it.',
  flags: [
    { name: 'stat', help: 'print only the changed files, with the number of added and removed lines' },
    jsonFlag,
    ...commonFlags,
    ...serverFlags,
  ],
  positionals: { min: 1, max: 1 },
  examples: [
    ['retinue diff last', 'every change of the newest run'],
    ['retinue diff last --stat', 'which files it changed'],
  ],
  exitCodes: 'command',
  changes: false,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const [given] = args.positionals as [string];
  const { id, facts, changes, patch } = await withApi(io, { flags: commonSettings(args), drive: false }, async (api) => {
    const runId = await api.find(given);
    const logged = await api.logs(runId, { tree: true });
    const found = logged.filter((fact): fact is Extract<typeof fact, Fact> => !('erased' in fact));
    const listed = await api.changes(runId);
    // A patch of this run alone goes into a file or a pipe as it is, so that git can apply it.
    const isExact = !io.outTTY && !args.has('json') && !args.has('stat') && listed.every((change) => change.runId === runId);
    return { id: runId, facts: found, changes: listed, patch: isExact ? await api.patch(runId) : null };
  });
  const hasPatch = facts.some((fact) => fact.type === 'workspace.saved' && fact.runId === id);
  const commands = hasPatch ? 0 : countCommands(facts);
  if (patch !== null) io.outBytes(patch);
  else if (args.has('json')) printJson(io, changes);
  else if (changes.length === 0) io.err(`retinue: ${shortId(id)} has changed no file\n`);
  else io.out(args.has('stat') ? formatStat(changes, io) : formatChanges(changes, io));
  if (commands > 0) io.err(`retinue: not included: the contents that ${formatPlural(commands, 'shell command')} may have changed\n`);
  return 0;
}

/** By file, in the order of their first change. The changes of one file stay in order, so the text can be applied as a patch. */
function formatChanges(changes: FileChange[], io: Io): string {
  const files = Map.groupBy(changes, ({ path }) => path);
  return [...files.values()]
    .flat()
    .map(({ diff }) => formatDiff(sanitizeText(diff), io.colour.out))
    .join('');
}

function formatDiff(diff: string, colour: boolean): string {
  const style = (line: string): Style | null => {
    if (/^(diff|index|---|\+\+\+|=====)/.test(line)) return 'bold';
    return line.startsWith('@@') ? 'cyan' : line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : null;
  };
  const text = diff
    .split('\n')
    .map((line) => paint(colour, style(line), line))
    .join('\n');
  return text.endsWith('\n') ? text : `${text}\n`;
}

function describeEdits(list: FileChange[]): string {
  const notes = [list.length > 1 ? `${list.length} edits` : '', list.some(isCutDiff) ? 'at least: a long diff was cut' : ''];
  return notes
    .filter((note) => note !== '')
    .map((note) => `  ${note}`)
    .join('');
}

/** One line per file, with the sums of all its edits. */
function formatStat(changes: FileChange[], io: Io): string {
  const files = Map.groupBy(changes, ({ path }) => path);
  const width = Math.max(...[...files.keys()].map((path) => textWidth(formatPath(path))));
  const sum = (list: FileChange[], key: 'added' | 'removed') => list.reduce((total, change) => total + change[key], 0);
  const line = (name: string, list: FileChange[]) => {
    const kinds = list.map(describeWithoutLines);
    if (kinds.every((kind) => kind !== null)) return `${padToWidth(name, width)}  ${[...new Set(kinds)].join(', ')}`;
    return `${padToWidth(name, width)}  ${paint(io.colour.out, 'green', `+${sum(list, 'added')}`)} ${paint(io.colour.out, 'red', `-${sum(list, 'removed')}`)}`;
  };
  const rows = [...files].map(([path, list]) => `${line(formatPath(path), list)}${describeEdits(list)}`);
  return `${[...rows, `${formatPlural(files.size, 'file')} changed, +${sum(changes, 'added')} -${sum(changes, 'removed')}`].join('\n')}\n`;
}
