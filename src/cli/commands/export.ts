import { RetinueError } from '../../contract/error.ts';
import { sanitizeLine, stringifySafely } from '../../text/terminal.ts';
import { formatPlural } from '../../views/format.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { withApi } from '../session/open-api.ts';

export const exportCommand: Command = {
  name: 'export',
  group: 'records',
  usage: 'ID [--output FILE] [flags]',
  summary: 'write a run with its whole tree as one JSON Lines file',
  about:
    'The file has a header, the texts that events refer to, and the events as they are stored, so their hashes can be verified elsewhere. It contains what the runs read and wrote; secrets were removed before they were stored. It goes to standard output unless --output names a new file.',
  flags: [
    { name: 'output', short: 'o', value: 'FILE', help: 'write to this new file instead of standard output' },
    { name: 'live', help: 'export what exists so far of a tree that is still running' },
    jsonFlag,
    ...commonFlags,
  ],
  positionals: { min: 1, max: 1 },
  examples: [
    ['retinue export last -o run.jsonl', 'for another machine, or to keep'],
    ['retinue export last | gzip > run.jsonl.gz', 'compressed'],
  ],
  exitCodes: 'command',
  changes: false,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const [id] = args.positionals as [string];
  const file = args.value('output') ?? null;
  if (args.has('json') && file === null)
    throw new RetinueError('usage', '--json needs --output FILE: it describes what was written, while standard output has the export');
  return withApi(io, { flags: commonSettings(args), drive: false }, async (api) => {
    const { header, lines } = await api.export(id, { live: args.has('live') });
    const output = await io.output(file);
    try {
      await output.write(`${stringifySafely(header)}\n`);
      for await (const line of lines) await output.write(`${stringifySafely(line)}\n`);
      await output.end();
    } catch (error) {
      await output.drop();
      throw error;
    }
    const { rootId, runs, facts, lastHash } = header;
    if (args.has('json')) printJson(io, { rootId, runs, facts, lastHash, file });
    else if (file !== null)
      io.out(`exported ${rootId} to ${sanitizeLine(file)}: ${formatPlural(runs, 'run')}, ${formatPlural(facts, 'event')}\n`);
    return 0;
  });
}
