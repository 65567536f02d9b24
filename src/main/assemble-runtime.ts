// The only file that builds a runtime: everything that only running agents need. It is loaded when the first run starts.
import type { AssemblyInput, RuntimeInput } from '../config/assembly.ts';
import { createRedaction } from '../config/redact.ts';
import { findServerSecrets, listServers } from '../config/secrets.ts';
import type { HostName } from '../config/settings.ts';
import type { ExternalHomes } from '../externals/homes.ts';
import { nameOf } from '../externals/programs.ts';
import { inlineExecutor } from '../hosts/inline.ts';
import { createProcessExecutor } from '../hosts/process.ts';
import { createRuntime, type Runtime, type RuntimeOptions } from '../kernel/runtime.ts';
import { createModelCaller } from '../models/call.ts';
import type { ToolExecutor } from '../ports/tool-executor.ts';
import { systemClock, systemIds } from '../system/clock.ts';
import { createProcessGuard, type ProcessGuard } from '../system/process-guard.ts';
import { builtInTools, createWorkspaceReader } from '../tools/index.ts';
import { compileSchema } from '../tools/json-schema.ts';
import { createMcp } from '../tools/mcp/index.ts';
import type { AssemblyHooks } from './hooks.ts';
import { childRunArgument } from './internal-arguments.ts';
import { programFile } from './package-root.ts';

export async function assembleRuntime(assembly: AssemblyInput, input: RuntimeInput, hooks: AssemblyHooks | undefined): Promise<Runtime> {
  const options = toRuntimeOptions(assembly, input, hooks);
  return createRuntime(hooks ? hooks.wrapRuntime(options) : options);
}

function toRuntimeOptions(
  { store, catalog, dialect, dialectNamed, checkRules, checkouts, homes, flows, warn }: AssemblyInput,
  input: RuntimeInput,
  hooks: AssemblyHooks | undefined,
): RuntimeOptions {
  const { env, workspace, shell, notes, mcpServers } = input;
  const guard = createProcessGuard();
  const { names, values } = findServerSecrets(listServers(mcpServers, catalog.list()));
  const { redact, redactStream } = createRedaction(env, {
    names: [...input.secretNames, ...names],
    values,
    tokens: input.serverTokens ?? [],
    databasePasswords: input.databasePasswords ?? [],
  });
  const bash = { ...shell, marks: guard.marks, ...(input.grantedVariables ? { secrets: input.grantedVariables } : {}) };
  return {
    ...{ store, catalog, dialect, dialectNamed, warn, redact, redactStream, compileSchema },
    clock: systemClock,
    ids: systemIds,
    tools: [
      ...builtInTools({ ...notes, clock: systemClock, search: input.search, bash, readable: input.readable, skills: input.skills }),
      ...input.programTools,
    ],
    toolSource: createMcp({ servers: mcpServers, workspace, env, clock: systemClock, redact, marks: guard.marks }),
    models: input.models,
    callModel: createModelCaller(systemClock),
    findExecutor: createExecutors(guard, env, hooks),
    homes,
    externals: homes && createExternals(homes, input, guard),
    host: input.host,
    checkouts,
    flows,
    workspaces: createWorkspaceReader({ sandbox: shell.sandbox, marks: guard.marks }),
    memories: notes.memories,
    questions: input.questions,
    settings: {
      ...{ workspace, readable: input.readable, model: input.model, routes: input.routes },
      ...{ effort: input.effort, promptCache: input.promptCache },
      ...{ limits: input.limits, budgets: input.budgets, compaction: input.compaction, rulesets: input.rulesets },
      checkRules,
    },
  };
}

function createExternals({ folder }: ExternalHomes, { env, shell }: RuntimeInput, { marks }: ProcessGuard): RuntimeOptions['externals'] {
  const { sandbox, closed } = shell;
  const options = { env, folder, sandbox, closed, marks };
  // Loaded when the first external agent is started.
  return { nameOf, open: async (request) => (await import('../externals/index.ts')).createExternalAgents(options).open(request) };
}

/** Finds tool executors by the names that facts record. */
function createExecutors(guard: ProcessGuard, env: RuntimeInput['env'], hooks: AssemblyHooks | undefined): RuntimeOptions['findExecutor'] {
  const command = [process.execPath, programFile(), childRunArgument];
  const executors: Record<HostName, ToolExecutor> = {
    inline: inlineExecutor,
    process: createProcessExecutor({ command, env, marks: guard.marks, crash: hooks?.crash }),
  };
  return (name) => (Object.hasOwn(executors, name) ? executors[name as HostName] : null);
}
