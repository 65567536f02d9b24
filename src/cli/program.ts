// The command line as a function: arguments and a world in, an exit code out. Each command is loaded only when it is used.
import { RetinueError } from '../contract/error.ts';
import { type Command, help } from './command.ts';
import { report } from './errors.ts';
import { type Args, parse } from './flags.ts';
import { helpOf, overview } from './help.ts';
import type { Io } from './io.ts';
import { route } from './route.ts';

export async function program(argv: string[], io: Io): Promise<number> {
  try {
    const routed = route(argv);
    switch (routed.kind) {
      case 'version':
        io.out(`${io.version}\n`);
        return 0;
      case 'overview':
        if (routed.asked) io.out(overview(io.colour.out));
        else io.err(overview(io.colour.err));
        return routed.asked ? 0 : 2;
      case 'help':
        io.out(helpOf(routed.command, { colour: io.colour.out, columns: io.columns() }));
        return 0;
      case 'command': {
        const args = parse(routed.argv, [...routed.command.flags, help]);
        checkWords(routed.command, args);
        return await (await routed.command.load()).run(args, io);
      }
    }
  } catch (error) {
    return report(error, io);
  }
}

function checkWords({ name, usage, words }: Command, args: Args): void {
  const given = args.words.length;
  if (given >= words.min && given <= words.max) return;
  const surplus = args.words.slice(words.max).join(' ');
  const what = given < words.min ? 'something is missing' : `\`${surplus}\` is too much`;
  const task = given > words.max ? `; to give it as a task: retinue run "${name} ${args.words.join(' ')}"` : '';
  throw new RetinueError('usage', `${what}; usage: retinue ${name} ${usage}${task}`);
}
