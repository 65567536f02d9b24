// A whole runtime for tests: real kernel, scripted model, hand clock or real one, and a real workspace folder where files matter.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { builtInAgents } from '../../src/agents/built-in.ts';
import { createCatalog } from '../../src/agents/catalog.ts';
import { createRedaction } from '../../src/config/redact.ts';
import { checkRules } from '../../src/config/rulesets.ts';
import type { Agent } from '../../src/contract/agent.ts';
import type { Fact } from '../../src/contract/fact.ts';
import type { Ruleset } from '../../src/contract/grant.ts';
import type { LimitsGiven } from '../../src/contract/limits.ts';
import { native } from '../../src/dialects/native.ts';
import { inlineExecutor } from '../../src/hosts/inline.ts';
import { createRuntime, type Runtime, type RuntimeOptions } from '../../src/kernel/runtime.ts';
import { createModelCaller } from '../../src/models/call.ts';
import { createModels } from '../../src/models/models.ts';
import { createScriptModels } from '../../src/models/script.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Ids } from '../../src/ports/ids.ts';
import type { Memories } from '../../src/ports/notes.ts';
import type { Store } from '../../src/ports/store.ts';
import type { AnyTool } from '../../src/ports/tool.ts';
import type { ToolExecutor } from '../../src/ports/tool-executor.ts';
import type { WorkspaceReader } from '../../src/ports/workspace.ts';
import { builtInRuleset } from '../../src/rules/policy.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createMemoryNotes } from '../../src/stores/notes-memory.ts';
import { systemClock } from '../../src/system/clock.ts';
import { checkInvariants, type InvariantOptions } from '../../src/testing/invariants.ts';
import { workspaceTools as builtInTools, createWorkspaceReader } from '../../src/tools/index.ts';
import { compileSchema } from '../../src/tools/json-schema.ts';

export interface WorldOptions {
  /** The script that `script/main` stands for; more by name, also such as come later. */
  script?: object;
  scripts?: Record<string, object>;
  store?: Store;
  clock?: Clock;
  /** The clock of `delayMs` in scripts, if it is another one: with a gate clock a model answers when the test says so. */
  scriptClock?: Clock;
  tools?: AnyTool[];
  agents?: Agent[];
  limits?: LimitsGiven;
  rulesets?: Ruleset[];
  /** Where all runs execute their tools; in this process by default. */
  executor?: ToolExecutor;
  files?: Record<string, string>;
  env?: Record<string, string>;
  memories?: Memories;
  settings?: Partial<RuntimeOptions['settings']>;
  options?: Partial<RuntimeOptions>;
  /** Invariants that what this world leaves behind need not keep, each with the reason. */
  excuses?: InvariantOptions['excuses'];
}

export interface World {
  runtime: Runtime;
  store: Store;
  workspace: string;
  facts: Fact[];
  types(runId?: string): string[];
  [Symbol.asyncDispose](): Promise<void>;
}

export function countingIds(): Ids {
  let n = 0;
  const next = () => (++n).toString(16).padStart(16, '0');
  return { runId: next, orderId: () => `order-${next()}`, key: () => 'a fixed key', random: () => 0.5 };
}

/** Under a hand clock nothing may take real time: files come from memory. */
function memoryFiles(files: Record<string, string>): WorkspaceReader {
  return {
    read: async (_, path) => {
      const text = files[path];
      return text === undefined ? { ok: false, reason: 'does not exist' } : { ok: true, text, truncated: false, subjects: [path] };
    },
    describe: async () => ({ platform: 'linux', git: null }),
  };
}

export async function createWorld(given: WorldOptions = {}): Promise<World> {
  const workspace = mkdtempSync(join(tmpdir(), 'retinue-test-'));
  for (const [name, text] of Object.entries(given.files ?? {})) writeFileSync(join(workspace, name), text);
  const clock = given.clock ?? systemClock;
  const store = given.store ?? createMemoryStore(given.clock ? { clock } : {});
  const main = given.script ?? { runs: [{ steps: [{ text: 'done' }] }] };
  const script = createScriptModels({
    clock: given.scriptClock ?? clock,
    readFile: async (path) => {
      const name = path.slice((given.settings?.workspace ?? workspace).length + 1);
      const found = given.scripts?.[name] ?? (name === 'main' ? main : undefined);
      if (!found) throw new Error(`no script ${path}`);
      return JSON.stringify(found);
    },
  });
  const own = given.tools ?? [];
  const runtime = await createRuntime({
    store,
    clock,
    ids: countingIds(),
    catalog: createCatalog([...builtInAgents, ...(given.agents ?? [])]),
    tools: [...builtInTools, ...own],
    dialect: native,
    findExecutor: (name) => (name === given.executor?.name ? given.executor : name === 'inline' ? inlineExecutor : null),
    host: given.executor?.name,
    workspaces: given.clock ? memoryFiles(given.files ?? {}) : createWorkspaceReader({ sandbox: null }),
    memories: given.memories ?? createMemoryNotes().memories,
    callModel: createModelCaller(clock),
    compileSchema,
    ...createRedaction(given.env ?? {}),
    models: createModels({ providers: { script } }),
    settings: {
      workspace,
      model: 'script/main',
      limits: given.limits ?? {},
      rulesets: (delegationTools) =>
        given.rulesets ?? [
          builtInRuleset(
            delegationTools,
            own.map((tool) => tool.name),
          ),
        ],
      checkRules,
      ...given.settings,
    },
    ...given.options,
  });
  const facts: Fact[] = [];
  runtime.listen((event) => {
    if (event.type !== 'delta') facts.push(event);
  });
  return {
    runtime,
    store,
    workspace,
    facts,
    types: (runId) => facts.filter((fact) => runId === undefined || fact.runId === runId).map((fact) => fact.type),
    async [Symbol.asyncDispose]() {
      await runtime.close();
      const excuses = given.excuses ?? {};
      expect(await checkInvariants(store, { stats: runtime.stats(), excuses }), 'the invariants of what is left behind').toEqual([]);
      await store.close();
      rmSync(workspace, { recursive: true, force: true });
    },
  };
}
