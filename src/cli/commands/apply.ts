import type { ApplyReport } from '../../api/api.ts';
import { formatPath, sanitizeLine } from '../../text/terminal.ts';
import { formatPlural, shortId } from '../../views/format.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, jsonFlag, unlimited, writingFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { withLocalApi } from '../session/open-api.ts';

export const applyCommand: Command = {
  name: 'apply',
  group: 'control',
  usage: 'ID… [--check] [flags]',
  summary: 'take over what runs changed in their own copy of the files',
  about:
    'Merges the changes of each run (--worktree, --repository, or `isolation: worktree` of an agent) into the files of the workspace, in the given order, each on top of the ones before. For a run without its own copy: those of the runs that it delegated, in the order of their briefs. Files are merged by name; renames are not followed. Files that you changed too are merged. If a change does not fit, nothing of that run is taken over, and the paths are named; the other runs are not affected. The index, HEAD and branches of git stay as they are.\n\n' +
    'The exit code is 0 if everything was applied, and 1 if there was a conflict. `retinue undo` takes it back.',
  flags: [{ name: 'check', help: 'only say what would happen' }, jsonFlag, ...writingFlags],
  positionals: { min: 1, max: unlimited },
  examples: [
    ['retinue apply last --check', 'does it fit?'],
    ['retinue apply 7f3a 91c0', 'two runs, one after the other'],
  ],
  exitCodes: 'command',
  changes: true,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const check = args.has('check');
  const session = { flags: commonSettings(args), drive: true, existingOnly: true };
  const report = await withLocalApi(io, session, (api) => api.apply(args.positionals, { check }));
  if (args.has('json')) printJson(io, reportToJson(report));
  else print(report, check, io);
  const isComplete = report.conflicts.length + report.left.length === 0 && (report.completed ?? []).every(({ left }) => left.length === 0);
  return isComplete ? 0 : 1;
}

/** Fixes the order of keys. */
function reportToJson({ applied, conflicts, files, left, completed }: ApplyReport): object {
  const toJson = ({ runId, paths }: ApplyReport['conflicts'][number]) => ({
    runId,
    paths: paths.map(({ path }) => path),
    reasons: Object.fromEntries(paths.map(({ path, reason }) => [path, reason])),
  });
  return { applied, conflicts: conflicts.map(toJson), files, left, ...(completed && { completed }) };
}

function print({ applied, conflicts, files, left, completed = [] }: ApplyReport, check: boolean, io: Io): void {
  io.out(describeCompleted(completed));
  if (applied.length > 0) {
    const nothing = completed.length > 0 ? 'nothing more to change' : 'nothing to change';
    const what = files.length === 0 ? nothing : formatPlural(files.length, 'file');
    io.out(`${check ? 'would apply' : 'applied'} ${applied.map(shortId).join(', ')}: ${what}\n`);
    for (const path of files) io.out(`  ${formatPath(path)}\n`);
  }
  for (const { runId, paths } of conflicts) {
    io.out(`conflict: ${shortId(runId)} ${check ? 'would not be' : 'was not'} applied\n`);
    for (const { path, reason } of paths) io.out(`  ${formatPath(path)} ${sanitizeLine(reason)}\n`);
  }
  for (const path of left) io.out(`left alone, because it changed in the meantime: ${formatPath(path)}\n`);
}

/** What earlier commands had begun. */
export function describeCompleted(completed: NonNullable<ApplyReport['completed']>): string {
  return completed
    .flatMap(({ kind, runs, files, left }) => [
      `completed the interrupted ${kind} of ${runs.map(shortId).join(', ')}: ${formatPlural(files.length, 'file')}`,
      ...files.map((path) => `  ${formatPath(path)}`),
      ...left.map((path) => `left alone, because it changed in the meantime: ${formatPath(path)}`),
    ])
    .map((line) => `${line}\n`)
    .join('');
}
