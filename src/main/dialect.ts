// Which dialect is in force, with its configuration. The native one is at hand; the others are loaded when somebody asks for one.
import type { Settings } from '../cli/settings.ts';
import { native } from '../dialects/native.ts';
import type { Dialect } from '../ports/dialect.ts';

/** The dialect of a recorded tree; null if this program has none of this name. */
export async function findDialect(name: string, settings: Pick<Settings, 'dialects'>): Promise<Dialect | null> {
  if (name === native.name) return native;
  const { dialectNames } = await import('../dialects/index.ts');
  return dialectNames.includes(name) ? dialectOf(name, settings) : null;
}

export async function dialectOf(name: string | undefined, settings: Pick<Settings, 'dialects'>): Promise<Dialect> {
  if (name === undefined || name === native.name) return native;
  return (await import('../dialects/index.ts')).makeDialect(name, settings.dialects[name] ?? {});
}
