// Which dialect is in force, with its configuration. The native one is at hand; the others are loaded when somebody asks for one.
import type { Settings } from '../cli/settings.ts';
import { native } from '../dialects/native.ts';
import type { Dialect } from '../ports/dialect.ts';

export async function dialectOf(name: string | undefined, settings: Pick<Settings, 'dialects'>): Promise<Dialect> {
  if (name === undefined || name === native.name) return native;
  return (await import('../dialects/index.ts')).makeDialect(name, settings.dialects[name] ?? {});
}
