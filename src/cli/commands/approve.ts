import type { Api, Question } from '../../api/api.ts';
import type { Settings } from '../../config/settings.ts';
import { RetinueError } from '../../contract/error.ts';
import { markInvisibleLine } from '../../text/invisible.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { describeQuestion } from '../../views/describe-question.ts';
import { shortId } from '../../views/format.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, jsonFlag, serverFlags, writingFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { withApi } from '../session/open-api.ts';

export const approveCommand: Command = {
  name: 'approve',
  group: 'control',
  usage: '[ID [--always]] [flags]',
  summary: 'approve a tool call that waits for approval, or list those that do',
  about:
    'If a rule says `ask`, the run stops, shows the call and waits for an answer (on a terminal, or with `run --ask`). What you approve is exactly what is executed: the command shows the call, and refuses an ID of a run whose call is newer than your last list. With --always, the same call (for file tools: the same path) needs no approval again in that run and its descendants; deny rules still apply. If the run has no process, the answer is saved for `retinue resume`.',
  flags: [
    { name: 'always', help: 'approve the same call from now on, in this run and its descendants' },
    jsonFlag,
    ...writingFlags,
    ...serverFlags,
  ],
  positionals: { min: 0, max: 1 },
  examples: [
    ['retinue approve', 'list the calls that wait, with their ids'],
    ['retinue approve 3f2a91c0', 'approve the one call that this run waits for'],
  ],
  exitCodes: 'command',
  changes: ({ positionals }) => positionals.length > 0,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const [id] = args.positionals;
  if (id === undefined && args.has('always')) throw new RetinueError('usage', '--always needs the ID of the call to approve');
  if (id === undefined) return listQuestions(args, io);
  return sendAnswer(args, io, { id, answer: { allowed: true, always: args.has('always') } });
}

async function listQuestions(args: Args, io: Io): Promise<number> {
  const questions = await withApi(io, { flags: commonSettings(args), drive: false }, async (api, settings) => {
    const before = new Date(io.now()).toISOString();
    const open = await api.questions();
    // Questions that were asked while the list was read count if they are in it.
    const shownUntil = open.map(({ askedAt }) => askedAt).reduce((latest, at) => (at > latest ? at : latest), before);
    await io.questionList.save(questionSource(api, settings), shownUntil);
    return open;
  });
  if (args.has('json')) printJson(io, questions);
  else if (questions.length === 0) io.err('no call waits for approval\n');
  else
    for (const question of questions) {
      const id = `${shortId(question.runId)}.${question.turn}.${question.index}`;
      const text = describeQuestion(question, io.colour.out);
      io.out(`${text}\n  retinue approve ${id} · retinue refuse ${id}\n`);
    }
  return 0;
}

/** Where the questions are: a database, or a server. */
function questionSource({ server }: Api, settings: Settings | null): string {
  return settings?.db.shown ?? (server?.url as string);
}

/** An approval that names only a run must not apply to a question that came after the user looked. */
async function assertShown(question: Question, source: string, io: Io): Promise<void> {
  const shownAt = await io.questionList.shownAt(source);
  if (shownAt === null || question.askedAt <= shownAt) return;
  io.err(`${describeQuestion(question, io.colour.err)}\n`);
  const id = `${shortId(question.runId)}.${question.turn}.${question.index}`;
  throw new RetinueError(
    'usage',
    `this call is newer than your last list, so it was not approved; approve it with \`retinue approve ${id}\``,
  );
}

/** Also for `refuse`. Exit code 1 if the answer came too late. */
export async function sendAnswer(
  args: Args,
  io: Io,
  { id, answer }: { id: string; answer: Parameters<Api['answer']>[1] },
): Promise<number> {
  const session = { flags: commonSettings(args), drive: true, existingOnly: true };
  const { question, result, denial } = await withApi(io, session, async (api, settings) => {
    const found = await api.question(id);
    if (answer.allowed && !id.includes('.')) await assertShown(found, questionSource(api, settings), io);
    return api.answer(found.id, answer);
  });
  const { runId, tool } = question;
  const run = shortId(runId);
  if (args.has('json'))
    printJson(io, { id: question.id, runId, tool, allowed: answer.allowed, result, ...(denial === undefined ? {} : { denial }) });
  else if (result === 'late') io.err(`retinue: ${run} no longer waits for this answer: it was answered elsewhere or has ended\n`);
  else {
    const later = result === 'kept' ? '; the run has no process, so the answer takes effect with `retinue resume`' : '';
    const denied = denial === undefined ? '' : `, but the call was not made: ${sanitizeLine(denial)}`;
    if (!id.includes('.')) io.err(`${describeQuestion(question, io.colour.err)}\n`);
    io.out(`${run} ${markInvisibleLine(tool)} ${answer.allowed ? 'approved' : 'refused'}${later}${denied}\n`);
  }
  return result === 'late' ? 1 : 0;
}
