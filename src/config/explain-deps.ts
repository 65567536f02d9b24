// What explanations need to know of a process: its tools and rulesets. Nothing is opened and nothing runs.
import { native } from '../dialects/native.ts';
import { dialectToolNames } from '../kernel/dialect-tools.ts';
import { createMemoryNotes } from '../stores/notes-memory.ts';
import { systemClock } from '../system/clock.ts';
import { builtInTools } from '../tools/index.ts';
import type { ExplainCallDeps } from './explain-call.ts';
import { findSearchBackend } from './models.ts';
import { settingsRulesets } from './rulesets.ts';
import type { Settings } from './settings.ts';
import { probeShellAccess } from './shell-access.ts';
import type { Env } from './user-folders.ts';

export async function createExplainDeps(settings: Settings, env: Env): Promise<ExplainCallDeps> {
  const { workspace, db, sandbox } = settings;
  const toolObjects = builtInTools({
    ...createMemoryNotes(),
    clock: systemClock,
    search: findSearchBackend(env),
    bash: { sandbox: null },
  });
  const shell = await probeShellAccess(sandbox.value, { workspace, db: db.path, env });
  const delegationTools = dialectToolNames(native);
  return {
    toolObjects,
    tools: toolObjects.map((tool) => tool.name),
    delegationTools,
    rulesets: settingsRulesets(settings, delegationTools, shell),
  };
}
