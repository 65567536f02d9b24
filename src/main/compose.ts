// The composition root: picks the adapters that a command stands on. Nothing here is kept between calls.
import { existsSync } from 'node:fs';
import { builtInAgents } from '../agents/built-in.ts';
import { createCatalog } from '../agents/catalog.ts';
import type { Api } from '../api/api.ts';
import { createApi } from '../api/create.ts';
import type { Settings } from '../cli/settings.ts';
import type { Ruleset } from '../contract/grant.ts';
import { native } from '../dialects/native.ts';
import { inlineHost } from '../hosts/inline.ts';
import { builtInRuleset, parseRule } from '../kernel/policy.ts';
import { createRuntime, type Runtime } from '../kernel/runtime.ts';
import { createModelCaller } from '../models/call.ts';
import { createModels } from '../models/models.ts';
import { withPrices } from '../models/prices.ts';
import { createScriptModels } from '../models/script.ts';
import { createMemoryStore } from '../stores/memory.ts';
import { openSqliteStore } from '../stores/sqlite/create.ts';
import { directories, tools } from '../tools/index.ts';
import { compileSchema } from '../tools/json-schema.ts';
import { createRedact } from './secrets.ts';
import { systemClock, systemIds } from './system.ts';

export async function openApi(settings: Settings, { drive }: { drive: boolean }): Promise<Api> {
  // A command that only reads makes no database where there is none: it finds nothing.
  const store =
    drive || existsSync(settings.db.path)
      ? await openSqliteStore({ path: settings.db.path, durability: settings.durability.value })
      : createMemoryStore();
  const catalog = createCatalog(builtInAgents);

  function runtime(): Promise<Runtime> {
    return createRuntime({
      store,
      clock: systemClock,
      ids: systemIds,
      catalog,
      tools,
      callModel: createModelCaller(systemClock),
      compileSchema,
      redact: createRedact(process.env),
      dialect: native,
      host: inlineHost,
      workspaces: directories,
      models: withPrices(createModels({ providers: { script: createScriptModels({ clock: systemClock }) } }), settings.prices),
      settings: {
        workspace: settings.workspace,
        model: settings.model?.value ?? null,
        limits: settings.limits.config,
        rulesets: rulesets(settings),
        whenFull: 'queue',
      },
    });
  }

  return createApi({ store, clock: systemClock, ids: systemIds, catalog, runtime });
}

/** The owner's one list (built-in, then the user's, then the command's), and each other ruleset on its own. */
function rulesets(settings: Settings): Ruleset[] {
  const builtIn = builtInRuleset(
    native.tools.map((tool) => tool.name),
    [],
  );
  const own = settings.ownerRules.flatMap(({ owner, rules }) => rules.map((rule) => ({ ...parseRule(rule), from: owner })));
  const others = settings.narrowingRules.map(({ owner, rules }): Ruleset => ({ kind: 'narrowing', owner, rules: rules.map(parseRule) }));
  return [{ ...builtIn, rules: [...builtIn.rules, ...own] }, ...others];
}
