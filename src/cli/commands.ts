import type { Command } from './command.ts';
import { groundCommands } from './table/ground.ts';
import { proveCommands } from './table/prove.ts';
import { runCommands } from './table/run.ts';
import { serveCommands } from './table/serve.ts';
import { steerCommands } from './table/steer.ts';
import { watchCommands } from './table/watch.ts';

/** In the order in which the help lists them. */
export const commands: Command[] = [
  ...runCommands,
  ...groundCommands,
  ...watchCommands,
  ...steerCommands,
  ...proveCommands,
  ...serveCommands,
];

/** Words that will be commands one day: a task of that one word would be a surprise. */
export const reserved = ['top', 'approve', 'refuse', 'policy', 'serve'];
