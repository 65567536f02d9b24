import { type Command, ground, json, many, plain, sandbox } from '../command.ts';

export const steerCommands: Command[] = [
  {
    name: 'resume',
    group: 'steer',
    usage: '[ID…] [flags]',
    summary: 'go on with runs whose process is gone, from their last fact',
    about:
      'Without an ID every interrupted run. No answer of a model and no finished tool call is asked for again; a call that was cut off is told to the model as unknown, or made again where that does no harm. Deadlines count the time in between. Returns when all of it has ended, with exit code 0 whatever came out; --json prints the outcomes.',
    flags: [sandbox, json, plain, ...ground],
    words: { min: 0, max: many },
    examples: [
      ['retinue resume', 'after a crash, a restart or a closed laptop'],
      ['retinue resume last', 'only the newest'],
    ],
    exits: 'work',
    load: () => import('../commands/resume.ts'),
  },
  {
    name: 'pause',
    group: 'steer',
    usage: 'ID… [--reason TEXT] [flags]',
    summary: 'hold runs back at their next step, without a slot',
    about:
      'Returns when the pause is in the journal: tool calls at work are finished first. `retinue resume ID` lets a run go on, and so does a message to it. Its deadline goes on.',
    flags: [{ name: 'reason', value: 'TEXT', help: 'kept in the facts' }, json, ...ground],
    words: { min: 1, max: many },
    examples: [['retinue pause last', 'look at what it did, then `retinue resume last`']],
    exits: 'work',
    load: () => import('../commands/pause.ts'),
  },
  {
    name: 'cancel',
    group: 'steer',
    usage: 'ID… [--reason TEXT] [flags]',
    summary: 'end runs and everything below them',
    about: 'Returns when the request is in the journal. A run that no process drives is ended here.',
    flags: [{ name: 'reason', value: 'TEXT', help: 'kept in the facts' }, json, ...ground],
    words: { min: 1, max: many },
    examples: [['retinue cancel last --reason "wrong branch"', 'the newest run']],
    exits: 'work',
    load: () => import('../commands/cancel.ts'),
  },
  {
    name: 'message',
    group: 'steer',
    usage: 'ID TEXT… [flags]',
    summary: 'steer a live run, or ask a finished one a follow-up',
    about:
      'A live run reads the text at its next turn. A finished one goes on with its context in a new run, which is then shown like `run` and decides the exit code.',
    flags: [json, plain, ...ground],
    words: { min: 2, max: many },
    examples: [['retinue message last "also look at the tests"', '']],
    exits: 'work',
    load: () => import('../commands/message.ts'),
  },
  {
    name: 'fork',
    group: 'steer',
    usage: 'ID --at TURN [--model NAME] [TEXT…] [flags]',
    summary: 'start a new run from a recorded turn of another one',
    about:
      'The new run has the conversation of the other up to and with that turn, the results of its tool calls as they were recorded, its agent, and no more rights or budget than it had. The words are what it is told next. It is shown like `run` and decides the exit code; the other run stays as it is.',
    flags: [
      { name: 'at', value: 'TURN', help: 'the last turn to keep; `retinue logs ID` shows them' },
      { name: 'model', value: 'NAME', help: 'another model, as `provider/model`' },
      { name: 'stream-json', help: 'print facts as JSON Lines on standard output as they come' },
      json,
      plain,
      ...ground,
    ],
    words: { min: 1, max: many },
    examples: [
      ['retinue fork last --at 3 "try it without a cache"', 'the same three turns, then another way'],
      ['retinue fork last --at 3 --model openai/gpt-5', 'what would another model have done?'],
    ],
    exits: 'outcome',
    load: () => import('../commands/fork.ts'),
  },
];
