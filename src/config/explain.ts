// Explains agents and calls with the tools and rulesets of the settings. Nothing is opened and nothing runs but the sandbox probe.
import { native } from '../dialects/native.ts';
import { dialectToolNames } from '../kernel/delegation/dialect-tools.ts';
import { createMemoryNotes } from '../stores/notes-memory.ts';
import { systemClock } from '../system/clock.ts';
import { builtInTools } from '../tools/index.ts';
import { databaseFile } from './database-setting.ts';
import { explainAgent } from './explain-agent.ts';
import { type ExplainCallDeps, explainCall, type PolicyQuestion } from './explain-call.ts';
import type { Explanation, PolicyVerdict } from './explanation.ts';
import { listExternalPrograms, type ProgramRow } from './external-programs.ts';
import { findSearchBackend } from './models.ts';
import { settingsRulesets } from './rulesets.ts';
import type { Settings } from './settings.ts';
import { probeShellAccess, type ShellAccess } from './shell-access.ts';
import type { Env } from './user-folders.ts';

/** Rejects like `explainAgent`. */
export async function explainConfiguredAgent(settings: Settings, name: string, env: Env): Promise<Explanation> {
  return explainAgent(settings, name, await createExplainDeps(settings, env));
}

/** Rejects like `explainCall`. */
export async function explainConfiguredCall(settings: Settings, question: PolicyQuestion, env: Env): Promise<PolicyVerdict> {
  return explainCall(settings, question, await createExplainDeps(settings, env));
}

/** The external agents that can be started here, with what is enforced for them. */
export async function listConfiguredPrograms(settings: Settings, env: Env): Promise<ProgramRow[]> {
  return listExternalPrograms(env, settings.workspace, await probeShell(settings, env));
}

function probeShell({ workspace, readable, db, sandbox }: Settings, env: Env): Promise<ShellAccess> {
  return probeShellAccess(sandbox.value, { workspace, readable, db: databaseFile(db), env });
}

async function createExplainDeps(settings: Settings, env: Env): Promise<ExplainCallDeps> {
  const shell = await probeShell(settings, env);
  const skills = settings.skills().list;
  const toolObjects = builtInTools({
    ...createMemoryNotes(),
    clock: systemClock,
    search: findSearchBackend(env),
    bash: { ...shell, env },
    skills,
  });
  const delegationTools = dialectToolNames(native);
  return {
    env,
    toolObjects,
    shell,
    tools: toolObjects.map((tool) => tool.name),
    delegationTools,
    rulesets: settingsRulesets(settings, { delegationTools, shell, env }),
  };
}
