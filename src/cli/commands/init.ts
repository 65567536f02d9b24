import type { Settings } from '../../config/settings.ts';
import { RetinueError } from '../../contract/error.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag, yesFlag } from '../command.ts';
import type { Io, Output } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { confirm } from '../session/confirm.ts';
import { formatModels, useModel } from './models.ts';

export const initCommand: Command = {
  name: 'init',
  group: 'setup',
  usage: '[--project] [--model NAME] [--yes] [flags]',
  summary: 'choose your model once, or write a configuration for this workspace',
  about:
    'Without flags: lists the models that this machine can use, asks which one you want, checks it with a short call and writes it into your own configuration. With --project: writes retinue.config.json with cautious rules and limits into the workspace. Nothing is overwritten.',
  flags: [
    { name: 'project', help: 'write the configuration of the workspace instead of your own' },
    { name: 'model', value: 'NAME', help: 'this model instead of asking' },
    yesFlag,
    jsonFlag,
    ...commonFlags,
  ],
  positionals: { min: 0, max: 0 },
  examples: [
    ['retinue init', 'asks for a model and remembers it'],
    ['retinue init --yes', 'takes the first model that was found'],
    ['retinue init --project', 'a configuration for everyone who works here'],
  ],
  exitCodes: 'command',
  changes: true,
  run,
};

/** Settings that only restrict, so that they need no trust. No cost limit: models without a known price would be refused. */
const projectConfig = { limits: { maxTurns: 30 }, rules: ['deny read:.env*', 'ask write:.github/*'] };

async function run(args: Args, io: Io): Promise<number> {
  const settings = await io.settings(commonSettings(args));
  if (args.has('project')) return writeProjectConfig(args, io, settings);
  const name = args.value('model') ?? (await chooseModel(args, io, settings));
  if (name !== null) return useModel(io, settings, name, { json: args.has('json') });
  io.err('retinue: nothing was changed\n');
  return 1;
}

/** Null if the user chooses none. */
async function chooseModel(args: Args, io: Io, settings: Settings): Promise<string | null> {
  const models = await io.models.list(settings);
  const [first] = models;
  if (!first) throw new RetinueError('unknown_model', await io.models.advice());
  if (args.has('yes')) return first.name;
  io.err(formatModels(models, { outTTY: io.errTTY, columns: io.columns, colour: { ...io.colour, out: io.colour.err } }, true));
  const answer = await io.ask(`\nWhich model? Its number (1 to ${models.length}) or a name; Enter for none > `);
  if (answer === null)
    throw new RetinueError('usage', 'cannot ask without a terminal; add --model NAME, or --yes for the first model that was found');
  const typed = answer.trim();
  if (typed === '') return null;
  return /^\d+$/.test(typed) ? pickByNumber(Number(typed)) : typed;

  function pickByNumber(number: number): string {
    const chosen = models[number - 1];
    if (!chosen) throw new RetinueError('usage', `there is no model ${number}; type a number from 1 to ${models.length}`);
    return chosen.name;
  }
}

async function createFile(io: Io, path: string): Promise<Output> {
  try {
    return await io.output(path);
  } catch (error) {
    const isThere = ((error as Error).cause as { code?: string } | undefined)?.code === 'EEXIST';
    if (!isThere) throw error;
    throw new RetinueError('usage', `${path} already exists; edit it, or delete it first`, { cause: error });
  }
}

async function writeProjectConfig(args: Args, io: Io, { workspace }: Settings): Promise<number> {
  const text = `${JSON.stringify(projectConfig, null, 2)}\n`;
  const path = `${workspace}/retinue.config.json`;
  io.err(`${sanitizeLine(path)}:\n${text}`);
  if (!args.has('yes') && !(await confirm(io, 'Write this file?'))) {
    io.err('retinue: nothing was changed\n');
    return 1;
  }
  const file = await createFile(io, path);
  await file.write(text);
  await file.end();
  if (args.has('json')) printJson(io, { file: path });
  else io.out(`${sanitizeLine(path)} is written; \`retinue config\` shows what counts now\n`);
  return 0;
}
