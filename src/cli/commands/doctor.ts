import { clean, cleanLine } from '../clean.ts';
import type { Args } from '../flags.ts';
import { paint, type Style } from '../format.ts';
import type { Check, Io } from '../io.ts';
import { printJson } from '../json.ts';
import { groundFlags } from '../session.ts';
import { pad, width } from '../width.ts';

const marks: Record<Check['state'], [mark: string, style: Style]> = { ok: ['✓', 'green'], warning: ['!', 'yellow'], broken: ['✗', 'red'] };

export async function run(args: Args, io: Io): Promise<number> {
  const checks = await io.doctor(groundFlags(args));
  if (args.has('json')) printJson(io, checks.map(shape));
  else io.out(text(checks, io));
  return checks.some(({ state }) => state === 'broken') ? 1 : 0;
}

function shape({ name, state, found, advice }: Check): Check {
  return { name, state, found, advice };
}

function text(checks: Check[], io: Io): string {
  const names = Math.max(...checks.map(({ name }) => width(name)));
  const lines = checks.flatMap(({ name, state, found, advice }) => {
    const [mark, style] = marks[state];
    const [first = '', ...more] = clean(found).split('\n').map(cleanLine);
    const under = ' '.repeat(names + 4);
    return [
      `${paint(io.colour.out, style, mark)} ${pad(name, names)}  ${first}`.trimEnd(),
      ...more.map((line) => under + line),
      ...(advice === null ? [] : [`${under}${paint(io.colour.out, 'dim', `→ ${cleanLine(advice)}`)}`]),
    ];
  });
  return `${lines.join('\n')}\n`;
}
