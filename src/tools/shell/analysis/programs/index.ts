import { builders } from './build-tools.ts';
import { builtins } from './builtins.ts';
import { files } from './file-tools.ts';
import { git } from './git.ts';
import { interpreterOf, starting } from './launchers.ts';
import { network } from './network.ts';
import type { Verb } from './program.ts';

const verbs = new Map<string, Verb>(Object.entries({ ...starting, ...builtins, ...files, ...builders, ...network, git }));

/** What is known of a program by its name without folders. */
export function verbOf(name: string): Verb | undefined {
  return verbs.get(name) ?? interpreterOf(name);
}
