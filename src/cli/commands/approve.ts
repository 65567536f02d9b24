import type { Api } from '../../api/api.ts';
import { RetinueError } from '../../contract/error.ts';
import { markInvisibleLine } from '../../text/invisible.ts';
import { questionText } from '../describe-question.ts';
import type { Args } from '../flags.ts';
import { shortId } from '../format.ts';
import type { Io } from '../io.ts';
import { printJson } from '../json.ts';
import { groundFlags, withApi } from '../session.ts';

/** Answers a question of a run of any process; without one it lists them. */
export async function run(args: Args, io: Io): Promise<number> {
  const [word] = args.words;
  if (word === undefined && args.has('always')) throw new RetinueError('usage', '--always needs the ID of what is approved');
  if (word === undefined) return list(args, io);
  return answer(args, io, word, { allowed: true, always: args.has('always') });
}

async function list(args: Args, io: Io): Promise<number> {
  const questions = await withApi(io, { flags: groundFlags(args), drive: false }, (api) => api.questions());
  if (args.has('json')) printJson(io, questions);
  else if (questions.length === 0) io.err('nothing waits for an answer\n');
  else
    for (const question of questions) {
      const id = `${shortId(question.runId)}.${question.turn}.${question.index}`;
      io.out(
        `${questionText(question, { colour: { ...io.colour, err: io.colour.out } })}\n  retinue approve ${id} · retinue refuse ${id}\n`,
      );
    }
  return 0;
}

const words: Record<Awaited<ReturnType<Api['answer']>>['result'], string> = {
  answered: '',
  kept: '; nobody drives the run, so it counts when `retinue resume` goes on with it',
  late: 'no longer waits for it: it was answered otherwise, or has ended',
};

/** Exit code 1 where the answer came too late. */
export async function answer(args: Args, io: Io, word: string, given: Parameters<Api['answer']>[1]): Promise<number> {
  const { question, result } = await withApi(io, { flags: groundFlags(args), drive: true }, (api) => api.answer(word, given));
  const { id, runId, tool } = question;
  if (args.has('json')) printJson(io, { id, runId, tool, allowed: given.allowed, result });
  else if (result === 'late') io.err(`retinue: ${shortId(runId)} ${words.late}\n`);
  else io.out(`${shortId(runId)} ${markInvisibleLine(tool)} ${given.allowed ? 'approved' : 'refused'}${words[result]}\n`);
  return result === 'late' ? 1 : 0;
}
