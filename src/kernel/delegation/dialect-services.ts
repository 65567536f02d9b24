// What runs of one dialect share. The dialect is a property of the run, so one process serves and resumes trees of any dialect.
import { RetinueError } from '../../contract/error.ts';
import type { LimitsGiven } from '../../contract/limits.ts';
import { createPromptBuilder, type PromptBuilder } from '../../conversation/prompt-builder.ts';
import type { Catalog } from '../../ports/catalog.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Dialect, DialectSetup } from '../../ports/dialect.ts';
import type { Memories } from '../../ports/notes.ts';
import type { AnyTool } from '../../ports/tool.ts';
import type { WorkspaceReader } from '../../ports/workspace.ts';
import { catalogForDialect, createDialectTools } from './dialect-tools.ts';

export interface DialectServices {
  name: string;
  setup: DialectSetup;
  /** The tool that reads the rest of a cut report, if there is one. */
  readTool: string | undefined;
  catalog: Catalog;
  /** Every tool by name, the dialect's delegation tools included. */
  tools: ReadonlyMap<string, AnyTool>;
  delegationTools: readonly string[];
  prompts: PromptBuilder;
}

export interface DialectDeps {
  clock: Clock;
  catalog: Catalog;
  tools: AnyTool[];
  workspaces: WorkspaceReader;
  /** Sent with briefs that have `inheritMemories`. */
  memories: Memories;
  /** The dialect of new trees that name none. */
  dialect: Dialect;
  settings: { limits: LimitsGiven };
  /** Finds the dialect of a tree that has another one; null if there is none of this name. */
  dialectNamed?: ((name: string) => Promise<Dialect | null>) | undefined;
}

/** Rejects with `unknown_dialect`. Without a name: the default dialect. */
export type LoadDialect = (name?: string) => Promise<DialectServices>;

/** Loads each dialect once. */
export function createDialectLoader(options: DialectDeps): LoadDialect {
  const loaded = new Map<string, Promise<DialectServices>>();

  async function load(name: string): Promise<DialectServices> {
    const dialect = name === options.dialect.name ? options.dialect : await options.dialectNamed?.(name);
    if (!dialect) throw new RetinueError('unknown_dialect', `the dialect ${name} is not available here`);
    return createDialectServices(dialect, options);
  }

  return (name = options.dialect.name) => {
    const services = loaded.get(name) ?? load(name);
    loaded.set(name, services);
    services.catch(() => loaded.delete(name));
    return services;
  };
}

function createDialectServices(dialect: Dialect, options: DialectDeps): DialectServices {
  const setup = dialect.setup ?? {};
  const catalog = catalogForDialect(dialect, options.catalog);
  const delegation = createDialectTools(dialect, catalog, options.settings.limits);
  const tools = new Map([...options.tools, ...delegation].map((tool) => [tool.name, tool]));
  const { workspaces, clock, memories } = options;
  return {
    name: dialect.name,
    setup,
    readTool: dialect.reader,
    catalog,
    tools,
    delegationTools: delegation.map((tool) => tool.name),
    prompts: createPromptBuilder({ workspaces, clock, tools, memories, setup }),
  };
}
