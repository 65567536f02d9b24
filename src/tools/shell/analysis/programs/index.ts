// Tables of programs whose flags or arguments can do more than their words show. Tables and small checks only: how a table is applied is in
// `../judge-command.ts` and `../flags.ts`. `program.ts` explains the fields.
import { buildTools } from './build-tools.ts';
import { builtins } from './builtins.ts';
import { fileTools } from './file-tools.ts';
import { git } from './git.ts';
import { findInterpreter, launchers } from './launchers.ts';
import { networkTools } from './network.ts';
import type { Program } from './program.ts';

const programs = new Map<string, Program>(Object.entries({ ...launchers, ...builtins, ...fileTools, ...buildTools, ...networkTools, git }));

/** Looks a program up by its name without directories. */
export function findProgram(name: string): Program | undefined {
  return programs.get(name) ?? findInterpreter(name);
}
