// The agents and models of the settings, for the names in an eval.
import type { Api } from '../api/api.ts';
import { createAgentCatalog } from '../config/agents.ts';
import { loadDialect } from '../config/dialect.ts';
import { plainRoutes } from '../config/model-setting.ts';
import { createNamedModels } from '../config/models.ts';
import type { Settings } from '../config/settings.ts';
import type { Env } from '../config/user-folders.ts';
import type { EvalInput } from '../contract/eval.ts';
import { assertNamesKnown } from '../evals/names.ts';
import { catalogForDialect } from '../kernel/delegation/dialect-tools.ts';

export async function checkEvalNames(api: Api, input: EvalInput, settings: Settings, env: Env): Promise<void> {
  const dialect = await loadDialect(undefined, settings, env);
  await assertNamesKnown(input, {
    catalog: catalogForDialect(dialect, createAgentCatalog(settings)),
    models: createNamedModels(env, settings.providers),
    settings: { model: settings.model?.value ?? null, routes: plainRoutes(settings) },
    workspace: settings.workspace,
    advise: (brief) => api.advise(brief),
  });
}
