// The dialect of a name, with its configuration, and the agents and recipes that files add to it. The native one is always loaded; the others are
// imported when they are used.
import type { Agent } from '../contract/agent.ts';
import { RetinueError } from '../contract/error.ts';
import { native } from '../dialects/native.ts';
import { dialectToolNames } from '../kernel/delegation/dialect-tools.ts';
import type { Dialect } from '../ports/dialect.ts';
import { checkRules } from './rulesets.ts';
import type { Settings } from './settings.ts';
import type { Env } from './user-folders.ts';

type DialectSettings = Pick<Settings, 'dialects' | 'agents' | 'workspace'>;

/** The dialect of a recorded tree; null if this program has none of this name. */
export async function findDialect(name: string, settings: DialectSettings, env: Env): Promise<Dialect | null> {
  if (name === native.name) return native;
  const { dialectNames } = await import('../dialects/index.ts');
  return dialectNames.includes(name) ? loadDialect(name, settings, env) : null;
}

/** Rejects with `unknown_dialect` or `invalid_config`. */
export async function loadDialect(name: string | undefined, settings: DialectSettings, env: Env): Promise<Dialect> {
  if (name === undefined || name === native.name) return native;
  const { dialectNames, makeDialect } = await import('../dialects/index.ts');
  const extensions = dialectNames.includes(name) ? await loadExtensions(name, settings, env) : {};
  const dialect = makeDialect(name, settings.dialects[name] ?? {}, extensions);
  for (const agent of dialect.setup?.agents ?? []) checkAgentRules(agent, dialect);
  return dialect;
}

/** Only dialects that the owner can extend read files. */
async function loadExtensions(name: string, { agents, workspace }: DialectSettings, env: Env) {
  if (name !== 'dex' && name !== 'openfork') return {};
  const own = agents().list.filter((agent) => agent.name.startsWith(`${name}/`));
  return { agents: own, ...(name === 'dex' && { recipes: (await import('./recipes.ts')).loadRecipes(workspace, env) }) };
}

function checkAgentRules({ rules = [], source }: Agent, dialect: Dialect): void {
  try {
    checkRules(rules, source, dialectToolNames(dialect));
  } catch (error) {
    throw new RetinueError('invalid_config', `\`${source}\`: ${(error as Error).message}`);
  }
}
