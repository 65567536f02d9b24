import { createHash } from 'node:crypto';

/** What providers take as the name of a tool. */
const maxName = 64;

/**
 * The names that tools of a server get here, in their order. The same names give the same; where two would get one name, those that had to be
 * changed are told apart by a piece of a hash.
 */
export function toolNames(server: string, names: readonly string[]): string[] {
  const prefix = `mcp__${server}__`;
  const plain = names.map((name) => prefix + name.replace(/[^A-Za-z0-9_-]/g, '_'));
  const count = Map.groupBy(plain, (name) => name);
  return names.map((name, i) => {
    const made = plain[i] as string;
    const fits = made.length <= maxName && (made === prefix + name || count.get(made)?.length === 1);
    return fits ? made : `${made.slice(0, maxName - 9)}_${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
  });
}
