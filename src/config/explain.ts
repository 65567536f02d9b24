// Explains agents and calls with the tools and rulesets of the settings. Nothing is opened and nothing runs but the sandbox probe.
import { native } from '../dialects/native.ts';
import { dialectToolNames } from '../kernel/dialect-tools.ts';
import { createMemoryNotes } from '../stores/notes-memory.ts';
import { systemClock } from '../system/clock.ts';
import { builtInTools } from '../tools/index.ts';
import { databaseFile } from './database-setting.ts';
import { explainAgent } from './explain-agent.ts';
import { type ExplainCallDeps, explainCall, type PolicyQuestion } from './explain-call.ts';
import type { Explanation, PolicyVerdict } from './explanation.ts';
import { findSearchBackend } from './models.ts';
import { settingsRulesets } from './rulesets.ts';
import type { Settings } from './settings.ts';
import { probeShellAccess } from './shell-access.ts';
import type { Env } from './user-folders.ts';

/** Rejects like `explainAgent`. */
export async function explainConfiguredAgent(settings: Settings, name: string, env: Env): Promise<Explanation> {
  return explainAgent(settings, name, await createExplainDeps(settings, env));
}

/** Rejects like `explainCall`. */
export async function explainConfiguredCall(settings: Settings, question: PolicyQuestion, env: Env): Promise<PolicyVerdict> {
  return explainCall(settings, question, await createExplainDeps(settings, env));
}

async function createExplainDeps(settings: Settings, env: Env): Promise<ExplainCallDeps> {
  const { workspace, readable, db, sandbox } = settings;
  const shell = await probeShellAccess(sandbox.value, { workspace, readable, db: databaseFile(db), env });
  const toolObjects = builtInTools({ ...createMemoryNotes(), clock: systemClock, search: findSearchBackend(env), bash: { ...shell, env } });
  const delegationTools = dialectToolNames(native);
  return {
    toolObjects,
    shell,
    tools: toolObjects.map((tool) => tool.name),
    delegationTools,
    rulesets: settingsRulesets(settings, { delegationTools, shell, env }),
  };
}
