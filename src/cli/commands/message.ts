import { RetinueError } from '../../contract/error.ts';
import { shortId } from '../../views/format.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings, outputMode, questionTimeout } from '../args/settings-flags.ts';
import { askFlag, type Command, jsonFlag, plainFlag, serverFlags, unlimited, writingFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { findDialect, withApi } from '../session/open-api.ts';
import { runToEnd } from '../session/run-to-end.ts';

export const messageCommand: Command = {
  name: 'message',
  group: 'control',
  usage: 'ID [--deny RULE] TEXT… [flags]',
  summary: 'send a message to a live run, or a follow-up question to an ended one',
  about:
    'A live run reads the message before its next turn. --deny takes a permission away from it and its descendants, from the next call on and permanently. An ended run answers in a new run that has its context; that run is shown like `retinue run` and decides the exit code.',
  flags: [
    { name: 'deny', value: 'RULE', repeatable: true, help: 'take a permission away from a live run, as `tool` or `tool:pattern`' },
    askFlag,
    jsonFlag,
    plainFlag,
    ...writingFlags,
    ...serverFlags,
  ],
  positionals: { min: 1, max: unlimited },
  examples: [
    ['retinue message last "also look at the tests"', 'steers a live run, or asks an ended one'],
    ['retinue message last --deny "bash:git push*" "do not push"', 'tells the run, and enforces it'],
  ],
  exitCodes: 'either',
  changes: true,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const mode = outputMode(args);
  const [given, ...words] = args.positionals as [string, ...string[]];
  const rules = args.values('deny').map((rule) => `deny ${rule}`);
  if (words.length === 0 && rules.length === 0)
    throw new RetinueError('usage', 'the message is missing; write `retinue message ID TEXT`, or a rule with --deny');
  const session = {
    ...{ flags: commonSettings(args), drive: true, existingOnly: true, agents: { chosen: undefined }, askMs: questionTimeout(args, io) },
    dialect: (api: Parameters<typeof findDialect>[0]) => findDialect(api, given),
  };
  return withApi(io, session, async (api) => {
    const id = await api.find(given);
    // An ended run answers in a new run of this process.
    const start = async () => {
      const result = await api.message(id, words.join(' '), { rules });
      return result.kind === 'continued' ? result.handle : null;
    };
    const code = await runToEnd(io, api, { ...mode, start });
    if (code !== null) return code;
    if (mode.json) printJson(io, { runId: id, result: 'sent' });
    else io.out(`${shortId(id)} will read it before its next turn\n`);
    return 0;
  });
}
