import { type Command, ground, json, many } from '../command.ts';

export const groundCommands: Command[] = [
  {
    name: 'agents',
    group: 'run',
    usage: '[explain NAME] [flags]',
    summary: 'list the agents there are, or explain one',
    about:
      'Each with its tools, what it is for and where it is defined: built in, in `agents/*.md` of your configuration folder or ~/.claude, or in .retinue/agents and .claude/agents of the workspace. `explain` shows what a run of the agent gets: tools, limits, rules and model, each with where it comes from.',
    flags: [json, ...ground],
    words: { min: 0, max: 2 },
    examples: [
      ['retinue agents', 'names for --agent'],
      ['retinue agents explain review', 'what it may do, and by whose word'],
    ],
    exits: 'work',
    load: () => import('../commands/agents.ts'),
  },
  {
    name: 'config',
    group: 'run',
    usage: '[flags]',
    summary: 'show the configuration in force and where each value came from',
    about: 'Also says what of the workspace’s file is left out because the workspace is not trusted; `retinue trust` changes that.',
    flags: [json, ...ground],
    words: { min: 0, max: 0 },
    examples: [['retinue config', 'every value with its file, variable or flag']],
    exits: 'work',
    load: () => import('../commands/config.ts'),
  },
  {
    name: 'memory',
    group: 'run',
    usage: 'add TITLE TEXT… | list [WORDS…] | rm TITLE [flags]',
    summary: 'keep notes for the runs of this workspace',
    about:
      'A memory has a title and a text, and adding the same title again replaces its text; `-` among the words reads more of the text from standard input. `list` shows those in which every word occurs, the newest first. Runs whose agent has the tool `memory` read and write them (the built-in agents do not have it).',
    flags: [json, ...ground],
    words: { min: 1, max: many },
    examples: [
      ['retinue memory add "test database" "start it with make db"', ''],
      ['retinue memory list database', ''],
      ['retinue memory rm "test database"', ''],
    ],
    exits: 'work',
    load: () => import('../commands/memory.ts'),
  },
  {
    name: 'trust',
    group: 'run',
    usage: '[--list | --revoke] [--yes] [flags]',
    summary: 'let the workspace’s own files widen rights and limits',
    about:
      'Shows what of retinue.config.json and of the agents of the workspace is left out now, asks, and remembers the files by their content: one that changes is not trusted any more.',
    flags: [
      { name: 'list', help: 'every file that is trusted, of all workspaces' },
      { name: 'revoke', help: 'trust nothing of this workspace any more' },
      { name: 'yes', short: 'y', help: 'do not ask' },
      json,
      ...ground.filter((flag) => flag.name === 'workspace'),
    ],
    words: { min: 0, max: 0 },
    examples: [
      ['retinue trust', 'look, then decide'],
      ['retinue trust --revoke', 'take it back'],
    ],
    exits: 'work',
    load: () => import('../commands/trust.ts'),
  },
  {
    name: 'doctor',
    group: 'run',
    usage: '[flags]',
    summary: 'check the ground: Node, database, configuration, models, helpers',
    about:
      'A line each with what to do about it. Names of keys are shown, never their values. The exit code is 1 where something needed is broken.',
    flags: [json, ...ground],
    words: { min: 0, max: 0 },
    examples: [['retinue doctor', 'when something does not work']],
    exits: 'work',
    load: () => import('../commands/doctor.ts'),
  },
];
