import { formatPath } from '../../text/terminal.ts';
import { formatPlural } from '../../views/format.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, jsonFlag, unlimited, writingFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { withLocalApi } from '../session/open-api.ts';
import { describeCompleted } from './apply.ts';

export const undoCommand: Command = {
  name: 'undo',
  group: 'control',
  usage: 'ID… [--check] [flags]',
  summary: 'take back what runs changed in the workspace',
  about:
    'Takes back what was applied from a run and its children, and what they wrote with file tools (`write` and `edit`). Only changes of these runs are taken back. A file that you or another run changed afterwards is left alone and named. If it was changed between two changes of a run, only the later one is taken back. Changes by shell commands cannot be taken back, unless the run had its own copy of the files.\n\n' +
    'The exit code is 0 if everything was taken back, and 1 if a file was left alone or taken back in part.',
  flags: [{ name: 'check', help: 'only say what would happen' }, jsonFlag, ...writingFlags],
  positionals: { min: 1, max: unlimited },
  examples: [['retinue undo last', 'as if the newest run had not written anything']],
  exitCodes: 'command',
  changes: true,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const check = args.has('check');
  const session = { flags: commonSettings(args), drive: true, existingOnly: true };
  const { files, left, conflicts, completed = [] } = await withLocalApi(io, session, (api) => api.undo(args.positionals, { check }));
  if (args.has('json')) printJson(io, { undone: files, left, ...(completed.length > 0 && { completed }) });
  else {
    io.out(describeCompleted(completed));
    const done = check ? 'would take back' : 'took back';
    const nothing = completed.length > 0 ? 'there is nothing more to take back\n' : 'there is nothing to take back\n';
    io.out(files.length === 0 ? nothing : `${done} ${formatPlural(files.length, 'file')}\n`);
    for (const path of files) io.out(`  ${formatPath(path)}\n`);
    for (const path of left) {
      const reason = conflicts.flatMap(({ paths }) => paths).find((each) => each.path === path)?.reason ?? 'has changed since';
      const what = files.includes(path) ? 'taken back in part, because it was changed in between' : `left alone, because it ${reason}`;
      io.out(`${what}: ${formatPath(path)}\n`);
    }
  }
  return left.length === 0 ? 0 : 1;
}
