// Which external agents are installed, and what is enforced for them.
import type { ExternalAgent } from '../contract/agent.ts';
import type { Profile } from '../externals/profiles/types.ts';
import { checkProgram, findProgram, nameOf, type ProgramState, profiles } from '../externals/programs.ts';
import { type EnforcedPromises, type KeptPromise, listPromises, summarizePromises } from '../externals/promises.ts';
import type { ShellAccess } from './shell-access.ts';
import type { Env } from './user-folders.ts';

/** Keys are in the order in which they are printed. */
export interface ProgramRow {
  program: string;
  /** Whether the program and its adapter are there, in a version that can be used. */
  installed: boolean;
  /** Null if it is not installed. */
  version: string | null;
  /** Why it cannot be started, with what to do; null if it can. */
  problem: string | null;
  /** With an API key behind the model gate. */
  enforced: EnforcedPromises;
  /** What is enforced with an API key behind the model gate, and with the program's own login. */
  promises: { gate: KeptPromise[]; own: KeptPromise[] };
}

export interface ExternalExplanation extends Pick<ProgramRow, 'program' | 'installed' | 'version' | 'problem' | 'enforced'> {
  login: 'gate' | 'own';
  promises: KeptPromise[];
}

type Access = Pick<ShellAccess, 'sandbox' | 'closed'>;

/** The agents that Retinue knows, as they are installed here. Starts each program that it finds once, for its version. */
export function listExternalPrograms(env: Env, workspace: string, { sandbox, closed }: Access): Promise<ProgramRow[]> {
  const enforcement = (isGated: boolean) => ({ isGated, isConfined: sandbox !== null, canUseNetwork: false });
  const promises = { gate: listPromises(enforcement(true)), own: listPromises(enforcement(false)) };
  return Promise.all(
    Object.values(profiles).map(async (profile) => {
      const found = describeState(await checkProgram(profile, env, workspace), closed);
      return { program: profile.name, ...found, enforced: summarizePromises(enforcement(true)), promises };
    }),
  );
}

export async function explainExternal(
  external: ExternalAgent,
  workspace: string,
  { env, shell, canUseNetwork }: { env: Env; shell: Access; canUseNetwork: boolean },
): Promise<ExternalExplanation> {
  const isGated = external.login !== 'own';
  const enforcement = { isGated, isConfined: shell.sandbox !== null, canUseNetwork };
  const state: ProgramState =
    'program' in external ? await checkProgram(profiles[external.program] as Profile, env, workspace) : findOther(external, env, workspace);
  return {
    program: nameOf(external),
    ...describeState(state, shell.closed),
    enforced: summarizePromises(enforcement),
    login: isGated ? 'gate' : 'own',
    promises: listPromises(enforcement),
  };
}

/** A program without a profile says its version only when it is started. */
function findOther({ acp: [command = ''] }: Extract<ExternalAgent, { acp: string[] }>, env: Env, workspace: string): ProgramState {
  const path = findProgram(command, env, workspace);
  if (path === null) return { ok: false, reason: `the program ${command} was not found, or is not executable` };
  return { ok: true, found: { path, version: 'not known', adapter: null } };
}

function describeState(state: ProgramState, closed: string | null): Pick<ProgramRow, 'installed' | 'version' | 'problem'> {
  if (!state.ok) return { installed: false, version: null, problem: state.reason };
  return { installed: true, version: state.found.version, problem: closed };
}
