import { RetinueError } from '../../contract/error.ts';
import { parseIntegerFlag } from '../args/flag-values.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings, outputMode, questionTimeout } from '../args/settings-flags.ts';
import { askFlag, type Command, jsonFlag, plainFlag, serverFlags, streamFlag, unlimited, writingFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { findDialect, withApi } from '../session/open-api.ts';
import { runToEnd } from '../session/run-to-end.ts';

export const forkCommand: Command = {
  name: 'fork',
  group: 'control',
  usage: 'ID --at TURN [--model NAME] [TEXT…] [flags]',
  summary: 'start a new run from a recorded turn of another one',
  about:
    'The new run has the same agent and the conversation up to and including that turn, with the recorded tool results, and no more permissions or budget than the original had. TEXT is its next message. It is shown like `retinue run` and decides the exit code; the original does not change.',
  flags: [
    { name: 'at', value: 'TURN', help: 'the last turn to keep; `retinue logs ID` shows the turns' },
    { name: 'model', value: 'NAME', help: 'another model, as `provider/model`' },
    streamFlag,
    askFlag,
    jsonFlag,
    plainFlag,
    ...writingFlags,
    ...serverFlags,
  ],
  positionals: { min: 1, max: unlimited },
  examples: [
    ['retinue fork last --at 3 "try it without a cache"', 'the same three turns, then a different approach'],
    ['retinue fork last --at 3 --model openai/gpt-5', 'what another model would have done'],
  ],
  exitCodes: 'outcome',
  changes: true,
  run,
};

const defaultTask = 'Continue with the task from here.';

async function run(args: Args, io: Io): Promise<number> {
  const mode = outputMode(args);
  const [given, ...words] = args.positionals as [string, ...string[]];
  const at = args.value('at');
  if (at === undefined) throw new RetinueError('usage', '--at TURN is missing; `retinue logs ID` shows the turns of a run');
  const turn = parseIntegerFlag('--at', at, { min: 1, max: 1_000_000 });
  const text = words.join(' ');
  const task = text.trim() === '' ? defaultTask : text;
  const session = {
    ...{
      flags: commonSettings(args),
      drive: true,
      existingOnly: true,
      startsRuns: true,
      agents: { chosen: undefined },
      askMs: questionTimeout(args, io),
    },
    dialect: (api: Parameters<typeof findDialect>[0]) => findDialect(api, given),
  };
  return withApi(io, session, async (api) => {
    const id = await api.find(given);
    return (await runToEnd(io, api, { ...mode, start: () => api.fork(id, { turn, task, model: args.value('model') }) })) ?? 0;
  });
}
