// The dialect of a name, with its configuration. The native one is always loaded; the others are imported when they are used.
import { native } from '../dialects/native.ts';
import type { Dialect } from '../ports/dialect.ts';
import type { Settings } from './settings.ts';

/** The dialect of a recorded tree; null if this program has none of this name. */
export async function findDialect(name: string, settings: Pick<Settings, 'dialects'>): Promise<Dialect | null> {
  if (name === native.name) return native;
  const { dialectNames } = await import('../dialects/index.ts');
  return dialectNames.includes(name) ? loadDialect(name, settings) : null;
}

/** Rejects with `unknown_dialect` or `invalid_config`. */
export async function loadDialect(name: string | undefined, settings: Pick<Settings, 'dialects'>): Promise<Dialect> {
  if (name === undefined || name === native.name) return native;
  return (await import('../dialects/index.ts')).makeDialect(name, settings.dialects[name] ?? {});
}
