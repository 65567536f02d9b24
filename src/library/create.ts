// Builds a Retinue from the library's options.
import { builtInAgents } from '../agents/built-in.ts';
import { createCatalog } from '../agents/catalog.ts';
import type { Api, Question } from '../api/api.ts';
import { forwardQuestions, type QuestionAnswer } from '../api/forward-questions.ts';
import { anchorAgent } from '../config/anchor-rules.ts';
import type { AssemblyInput, RuntimeInput } from '../config/assembly.ts';
import { openCheckouts } from '../config/checkouts.ts';
import { openExternalHomes } from '../config/external-homes.ts';
import { resolveDirectory } from '../config/files.ts';
import { modelToRoutes } from '../config/model-setting.ts';
import { resolveReadable } from '../config/readable-folders.ts';
import { buildRulesets, checkRules } from '../config/rulesets.ts';
import { probeShellAccess } from '../config/shell-access.ts';
import { resolveLibraryTelemetry } from '../config/telemetry.ts';
import type { Env } from '../config/user-folders.ts';
import type { Agent } from '../contract/agent.ts';
import { native } from '../dialects/native.ts';
import { dialectToolNames } from '../kernel/delegation/dialect-tools.ts';
import { withPrices } from '../models/prices.ts';
import { createMemoryStore } from '../stores/memory.ts';
import { createMemoryNotes } from '../stores/notes-memory.ts';
import { aiToolToTool } from '../tools/ai-sdk.ts';
import { compileSchema } from '../tools/json-schema.ts';
import { createDelegating } from './delegating.ts';
import { createEnqueue } from './enqueue.ts';
import { createLibraryFlows } from './flows.ts';
import { createLibraryModels, warnOfUnknownPrices } from './models.ts';
import { checkOptions } from './options.ts';
import { createScope } from './scope.ts';
import { checkOwnToolNames, resolveListedTools } from './tool-names.ts';
import type { Retinue, RetinueOptions } from './types.ts';

/** What the library gets from the composition root. */
export interface LibraryDeps {
  assemble(input: AssemblyInput): Api;
  env: Env;
  cwd(): string;
  /** Gets what the developer should know, such as that traces cannot be sent. */
  warn(message: string): void;
}

export function createLibrary(options: RetinueOptions, { assemble, env, cwd, warn }: LibraryDeps): Retinue {
  checkOptions(options);
  const { dialect = native, approve } = options;
  // Links are resolved once: rules are about real paths.
  const workspace = resolveDirectory(cwd(), options.workspace ?? '.');
  const readable = resolveReadable(options.addDirs ?? [], { cwd: cwd(), workspace, env });
  const toolNames = Object.keys(options.tools ?? {});
  checkOwnToolNames(toolNames, dialect);
  const agents = resolveListedTools(options.agents ?? [], toolNames, dialect);
  const checkOwnRules: typeof checkRules = (rules, owner, more) =>
    checkRules(rules, owner, [...toolNames, ...dialectToolNames(dialect), ...more]);
  checkOwnRules(options.rules ?? [], 'options', []);
  for (const [i, { rules = [] }] of agents.entries()) checkOwnRules(rules, `agents.${i}`, []);
  const { mcpServers = {} } = options;
  const notes = createMemoryNotes();
  const anchor = { workspace, env };
  const ownerRules = [{ owner: 'the program', rules: options.rules ?? [] }];
  const flows = createLibraryFlows(options.flows ?? [], () => api);
  const checkouts = openCheckouts({ env, workspace, db: null });
  const homes = openExternalHomes(env, options.externalsFolder);
  const api: Api = assemble({
    flows,
    store: options.store ?? createMemoryStore(),
    catalog: createCatalog([
      ...builtInAgents.map((agent) => addOwnTools(agent, toolNames)),
      ...agents.map((agent) => ({ ...anchorAgent(agent, anchor), source: 'library' })),
    ]),
    ...{ dialect, checkRules: checkOwnRules, prepareRuntime, workspace },
    ...{ checkouts, homes },
    async forget(rootId, runIds) {
      await notes.scratchpads.remove(rootId);
      for (const folders of [checkouts, homes]) await folders.forget(runIds);
    },
    telemetry: resolveLibraryTelemetry(options.telemetry, env),
    warn,
  });
  if (approve) forwardQuestions(api, (question, signal) => askProgram(approve, question, signal));

  async function prepareRuntime(): Promise<RuntimeInput> {
    const programTools = await Promise.all(
      Object.entries(options.tools ?? {}).map(([name, tool]) => aiToolToTool(name, tool, compileSchema)),
    );
    const { models, model } = createLibraryModels(options.model, env);
    const { prices = {} } = options;
    const priced = withPrices(models, prices);
    const shell = await probeShellAccess(options.sandbox ?? 'auto', { workspace, readable, db: null, env });
    return {
      readable,
      ...{ env, workspace, model, mcpServers, notes, programTools, shell },
      models: typeof options.model === 'function' ? priced : warnOfUnknownPrices(priced, prices, warn),
      limits: options.limits ?? {},
      budgets: options.budgets,
      compaction: options.compaction,
      routes: modelToRoutes(options.routes),
      ...{ effort: options.effort, promptCache: options.promptCache },
      rulesets: (delegationTools) => buildRulesets({ delegationTools, shell, programTools: toolNames, anchor, ownerRules }),
      secretNames: [],
      search: null,
      host: options.host,
      questions: approve && { canAnswer: () => true, timeoutMs: options.approveMs },
    };
  }

  return {
    api,
    ...createDelegating((brief, start) => api.start(brief, start), api),
    flow: flows.flow,
    enqueue: createEnqueue(api, { hasModelName: typeof options.model === 'string', hasQueue: options.store?.queue !== undefined }),
    scope: (scopeOptions = {}) => createScope({ ...api, limits: options.limits ?? {} }, scopeOptions),
    close: () => api.close(),
    [Symbol.asyncDispose]: () => api.close(),
  };
}

/** A callback that fails is a refusal of the program, which says so. */
async function askProgram(approve: NonNullable<RetinueOptions['approve']>, question: Question, signal: AbortSignal) {
  try {
    return toAnswer(await approve(question, signal));
  } catch (error) {
    return toAnswer({ refused: `the approval request failed (${(error as Error)?.message ?? error})` });
  }
}

function toAnswer(answer: boolean | 'always' | { refused: string }): QuestionAnswer {
  if (typeof answer === 'object') return { allowed: false, reason: answer.refused, by: 'the program' };
  return { allowed: answer === true || answer === 'always', always: answer === 'always', by: 'the program' };
}

/** `general` gets the tools of the program. The other built-in agents change nothing, so they get none. */
function addOwnTools(agent: Agent, names: readonly string[]): Agent {
  return agent.name === 'general' && names.length > 0 ? { ...agent, tools: [...(agent.tools ?? []), ...names] } : agent;
}
