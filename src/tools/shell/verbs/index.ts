import { builders } from './builders.ts';
import { builtins } from './builtins.ts';
import { files } from './files.ts';
import { git } from './git.ts';
import { network } from './network.ts';
import { interpreterOf, starting } from './shells.ts';
import type { Verb } from './verb.ts';

const verbs = new Map<string, Verb>(Object.entries({ ...starting, ...builtins, ...files, ...builders, ...network, git }));

/** What is known of a program by its name without folders. */
export function verbOf(name: string): Verb | undefined {
  return verbs.get(name) ?? interpreterOf(name);
}
