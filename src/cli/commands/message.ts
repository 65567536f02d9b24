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
  usage: 'ID [--deny RULE | --compact] TEXT… [flags]',
  summary: 'send a message to a live run, or a follow-up question to an ended one',
  about:
    'A live run reads the message before its next turn. --deny takes a permission away from it and its descendants, from the next call on and permanently. An ended run answers in a new run that has its context; that run is shown like `retinue run` and decides the exit code.',
  flags: [
    { name: 'deny', value: 'RULE', repeatable: true, help: 'take a permission away from a live run, as `tool` or `tool:pattern`' },
    { name: 'compact', help: 'replace the conversation of a live run by a summary before its next turn; takes no text' },
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
    ['retinue message last --compact', 'makes room in the context window of a long run'],
  ],
  exitCodes: 'either',
  changes: true,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const mode = outputMode(args);
  const [given, ...words] = args.positionals as [string, ...string[]];
  const rules = args.values('deny').map((rule) => `deny ${rule}`);
  const isCompaction = args.has('compact');
  if (isCompaction && (words.length > 0 || rules.length > 0))
    throw new RetinueError('usage', '--compact takes no text and no other order; send them with a second `retinue message`');
  if (!isCompaction && words.length === 0 && rules.length === 0)
    throw new RetinueError('usage', 'the message is missing; write `retinue message ID TEXT`, a rule with --deny, or --compact');
  const session = {
    ...{ flags: commonSettings(args), drive: true, existingOnly: true, agents: { chosen: undefined }, askMs: questionTimeout(args, io) },
    dialect: (api: Parameters<typeof findDialect>[0]) => findDialect(api, given),
  };
  return withApi(io, session, async (api) => {
    const id = await api.find(given);
    if (isCompaction) {
      const { result } = await api.compact(id);
      if (mode.json) printJson(io, { runId: id, result });
      else io.out(`${shortId(id)} compacts its conversation ${result === 'kept' ? 'when it is resumed' : 'before its next turn'}\n`);
      return 0;
    }
    // An ended run answers in a new run of this process.
    let sent: 'sent' | 'kept' = 'sent';
    const start = async () => {
      const result = await api.message(id, words.join(' '), { rules });
      if (result.kind !== 'continued') sent = result.kind;
      return result.kind === 'continued' ? result.handle : null;
    };
    const code = await runToEnd(io, api, { ...mode, start });
    if (code !== null) return code;
    if (mode.json) printJson(io, { runId: id, result: sent });
    else if (sent === 'sent') io.out(`${shortId(id)} will read it before its next turn\n`);
    else io.out(`the process of ${shortId(id)} has died; the message will be delivered by \`retinue resume ${shortId(id)}\`\n`);
    return 0;
  });
}
