// Tries the model gate for each external agent that is installed: one short call from the sandbox over the gate to the provider, if the configuration
// has a model that the agent can use.

import { databaseFile } from '../config/database-setting.ts';
import { openExternalHomes } from '../config/external-homes.ts';
import { createNamedModels } from '../config/models.ts';
import type { Settings } from '../config/settings.ts';
import { probeShellAccess } from '../config/shell-access.ts';
import type { Env } from '../config/user-folders.ts';
import type { Agent } from '../contract/agent.ts';
import { probeGate } from '../externals/probe.ts';
import type { Profile } from '../externals/profiles/types.ts';
import { checkProgram, findProgram, profiles } from '../externals/programs.ts';
import type { ModelHandle } from '../ports/model.ts';
import { createProcessGuard } from '../system/process-guard.ts';
import { type Check, ok, warning } from './check.ts';

interface ProbeDeps {
  settings: Settings;
  env: Env;
  shell: Awaited<ReturnType<typeof probeShellAccess>>;
  marks(): Record<string, string>;
}

/** Nothing for a program that is not installed, unless an agent needs it. */
export async function checkExternalAgents(settings: Settings, agents: Agent[], env: Env): Promise<Check[]> {
  const { workspace, readable, db } = settings;
  const needed = Object.values(profiles).filter(
    (profile) => findProgram(profile.program, env, workspace) !== null || usersOf(profile, agents).length > 0,
  );
  if (needed.length === 0) return [];
  const shell = await probeShellAccess(settings.sandbox.value, { workspace, readable, db: databaseFile(db), env });
  const deps: ProbeDeps = { settings, env, shell, marks: createProcessGuard().marks };
  return Promise.all(needed.map((profile) => checkAgent(profile, usersOf(profile, agents), deps)));
}

function usersOf({ name }: Profile, agents: Agent[]): Agent[] {
  return agents.filter(({ runs }) => runs !== undefined && 'program' in runs && runs.program === name);
}

async function checkAgent(profile: Profile, users: Agent[], deps: ProbeDeps): Promise<Check> {
  const { settings, env, shell } = deps;
  const name = `agent ${profile.name}`;
  const report = (found: string, advice: string) => (users.length === 0 ? ok(name, found) : warning(name, found, advice));
  const names = users.map((agent) => agent.name).join(', ');
  const state = await checkProgram(profile, env, settings.workspace);
  if (!state.ok) return report(`cannot be started: ${state.reason}`, `until then, agents that need it cannot work: ${names}`);
  const { version } = state.found;
  if (shell.closed !== null) return report(`${version}; cannot be started: ${shell.closed}`, 'see the check of the sandbox');
  const chosen = await chooseModel(profile, users, deps);
  const probed = await probeGate(chosen.model, { env, sandbox: shell.sandbox, marks: deps.marks, folder: openExternalHomes(env).folder });
  const way = shell.sandbox === null ? 'without a sandbox' : `in ${shell.sandbox.name}`;
  if (!probed.ok)
    return warning(
      name,
      `${version}; a request through the model gate failed ${way}\n${probed.reason}`,
      'agents with `runs` cannot use their model',
    );
  if (probed.call === null)
    return report(`${version}; the model gate answers ${way}; no model call was tried: ${chosen.why}`, chosen.advice);
  const { ms, usage } = probed.call;
  const tokens = usage.input + usage.output;
  return ok(name, `${version}; ${chosen.model?.id} answered through the model gate ${way} (${Math.round(ms)} ms, ${tokens} tokens)`);
}

interface ChosenModel {
  /** Null if there is none, for the reason `why`. */
  model: ModelHandle | null;
  why: string;
  advice: string;
}

/** The model of an agent that uses the program, or the default model. */
async function chooseModel({ name, wires }: Profile, users: Agent[], { settings, env }: ProbeDeps): Promise<ChosenModel> {
  const gated = users.filter(({ runs }) => runs?.login !== 'own');
  const advice = `name a model that it can use, in an agent with \`runs: ${name}\``;
  if (users.length > 0 && gated.length === 0)
    return { model: null, why: 'its agents use its own login, which Retinue does not use', advice: 'nothing to do if its own login works' };
  const names = [...gated.flatMap(({ model }) => [model ?? []].flat().slice(0, 1)), ...(settings.model ? [settings.model.value] : [])];
  let why = 'no model is configured';
  for (const each of new Set(names)) {
    const found = await resolveModel(each, settings, env);
    if (typeof found === 'string') why = found;
    else if (!found.endpoint || !wires.includes(found.endpoint.wire)) why = `${name} cannot use the model ${each}`;
    else return { model: found, why: '', advice };
  }
  return { model: null, why, advice };
}

/** The model, or why there is none. */
async function resolveModel(name: string, { providers, workspace }: Settings, env: Env): Promise<ModelHandle | string> {
  const requester = { runId: '0'.repeat(16), rootId: '0'.repeat(16), workspace, agent: 'doctor', label: null, task: 'try the model gate' };
  try {
    return await createNamedModels(env, providers).resolve(name, requester);
  } catch (error) {
    return (error as Error).message;
  }
}
