import type { ImportResult } from '../../records/import-tree.ts';
import { formatPlural, shortId } from '../../views/format.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, jsonFlag, writingFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { withApi } from '../session/open-api.ts';

export const importCommand: Command = {
  name: 'import',
  group: 'records',
  usage: 'FILE|- [flags]',
  summary: 'read an exported tree into the database of this workspace',
  about:
    'Checks every line against its schema, every text and event against its hash, and the file against its header, then writes all of it or nothing. Importing the same tree again changes nothing; a run that exists here with other events is refused. `verify`, `replay`, `show` and `logs` work on imported runs.',
  flags: [
    { name: 'unfinished', help: 'accept a tree that has not ended; if resumed, it has the permissions that the file records' },
    jsonFlag,
    ...writingFlags,
  ],
  positionals: { min: 1, max: 1 },
  examples: [
    ['retinue import run.jsonl', 'from a file'],
    ['ssh host retinue -C work export last | retinue import -', 'from another machine'],
  ],
  exitCodes: 'command',
  changes: true,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const [file] = args.positionals as [string];
  const lines = io.lines(file);
  const imported = await withApi(io, { flags: commonSettings(args), drive: true }, (api) =>
    api.import(lines, { unfinished: args.has('unfinished') }),
  );
  const { rootId, runs, facts, result, unfinished } = imported;
  if (args.has('json')) printJson(io, resultToJson(imported));
  else {
    const verb = result === 'already' ? 'already here' : 'imported';
    io.out(`${verb} ${rootId}: ${formatPlural(runs, 'run')}, ${formatPlural(facts, 'event')}\n`);
  }
  if (unfinished > 0 && result === 'imported') {
    io.err(`retinue: ${formatPlural(unfinished, 'run')} ${unfinished === 1 ? 'has' : 'have'} not ended.\n`);
    io.err('retinue: `retinue resume` would continue with the permissions and in the workspace that the file records.\n');
    io.err(
      `retinue: Check them first with \`retinue show ${shortId(rootId)}\`, or end the tree with \`retinue cancel ${shortId(rootId)}\`.\n`,
    );
  }
  return 0;
}

/** Fixes the order of keys. */
function resultToJson({ rootId, runs, facts, lastHash, result, unfinished }: ImportResult): ImportResult {
  return { rootId, runs, facts, lastHash, result, unfinished };
}
