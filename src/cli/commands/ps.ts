import type { Args } from '../flags.ts';
import { plural } from '../format.ts';
import type { Io } from '../io.ts';
import { printJson, viewJson } from '../json.ts';
import { groundFlags, withApi } from '../session.ts';
import { runTable } from '../tables.ts';

export async function run(args: Args, io: Io): Promise<number> {
  const all = args.has('all');
  const { runs, questions } = await withApi(io, { flags: groundFlags(args), drive: false }, async (api) => ({
    runs: await api.ps({ all }),
    questions: await api.questions(),
  }));
  if (args.has('json')) printJson(io, runs.map(viewJson));
  else if (runs.length > 0) io.out(runTable(runs, io));
  else io.err(all ? 'no runs yet\n' : 'no live runs; `retinue ps --all` lists the ended ones too\n');
  if (questions.length > 0 && !args.has('json'))
    io.err(`retinue: ${plural(questions.length, 'call')} wait${questions.length === 1 ? 's' : ''} for an answer: retinue approve\n`);
  return 0;
}
