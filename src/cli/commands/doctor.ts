import { sanitizeLine, sanitizeText } from '../../text/terminal.ts';
import { paint, type Style } from '../../views/style.ts';
import { padToWidth, textWidth } from '../../views/width.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag } from '../command.ts';
import type { Check, Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';

export const doctorCommand: Command = {
  name: 'doctor',
  group: 'setup',
  usage: '[flags]',
  summary: 'check Node, database, configuration, models and helper programs',
  about:
    'Prints one line per check and what to do about each problem. API keys are shown by name, never by value. The exit code is 1 if something necessary is broken.',
  flags: [jsonFlag, ...commonFlags],
  positionals: { min: 0, max: 0 },
  examples: [['retinue doctor', 'when something does not work']],
  exitCodes: 'command',
  changes: false,
  run,
};

const marks: Record<Check['state'], [mark: string, style: Style]> = { ok: ['✓', 'green'], warning: ['!', 'yellow'], broken: ['✗', 'red'] };

async function run(args: Args, io: Io): Promise<number> {
  const checks = await io.doctor(commonSettings(args));
  if (args.has('json')) printJson(io, checks.map(checkToJson));
  else io.out(describeChecks(checks, io));
  return checks.some(({ state }) => state === 'broken') ? 1 : 0;
}

/** Fixes the order of keys. */
function checkToJson({ name, state, found, advice }: Check): Check {
  return { name, state, found, advice };
}

function describeChecks(checks: Check[], io: Io): string {
  const nameWidth = Math.max(...checks.map(({ name }) => textWidth(name)));
  const indent = ' '.repeat(nameWidth + 4);
  const lines = checks.flatMap(({ name, state, found, advice }) => {
    const [mark, style] = marks[state];
    const [first = '', ...more] = sanitizeText(found).split('\n').map(sanitizeLine);
    return [
      `${paint(io.colour.out, style, mark)} ${padToWidth(name, nameWidth)}  ${first}`.trimEnd(),
      ...more.map((line) => indent + line),
      ...(advice === null ? [] : [`${indent}${paint(io.colour.out, 'dim', `→ ${sanitizeLine(advice)}`)}`]),
    ];
  });
  return `${lines.join('\n')}\n`;
}
