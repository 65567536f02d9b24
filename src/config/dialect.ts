// The dialect of a name, with its configuration, and the agents and recipes that files add to it. The native one is always loaded; the others are
// imported when they are used.
import { RetinueError } from '../contract/error.ts';
import { native } from '../dialects/native.ts';
import type { Dialect } from '../ports/dialect.ts';
import { parseRule } from '../rules/policy.ts';
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
  for (const agent of dialect.setup?.agents ?? []) checkRules(agent);
  return dialect;
}

/** Only dialects that the owner can extend read files. */
async function loadExtensions(name: string, { agents, workspace }: DialectSettings, env: Env) {
  if (name !== 'dex' && name !== 'openfork') return {};
  const own = agents().list.filter((agent) => agent.name.startsWith(`${name}/`));
  return { agents: own, ...(name === 'dex' && { recipes: (await import('./recipes.ts')).loadRecipes(workspace, env) }) };
}

function checkRules({ rules = [], source }: { rules?: string[] | undefined; source: string }): void {
  for (const rule of rules) {
    try {
      parseRule(rule);
    } catch (error) {
      throw new RetinueError('invalid_config', `\`${source}\`: ${(error as Error).message}`);
    }
  }
}
