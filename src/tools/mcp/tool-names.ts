// Names of MCP tools in Retinue: `mcp__server__tool`.
import { createHash } from 'node:crypto';

/** The longest tool name that all providers accept. */
const maxName = 64;

/**
 * The names that tools of a server get in Retinue, in the order given and always the same for the same input. If two tools would get one name, those
 * whose name had to be changed get part of a hash.
 */
export function assignToolNames(server: string, names: readonly string[]): string[] {
  const prefix = `mcp__${server}__`;
  const plain = names.map((name) => prefix + name.replace(/[^A-Za-z0-9_-]/g, '_'));
  const count = Map.groupBy(plain, (name) => name);
  return names.map((name, i) => {
    const candidate = plain[i] as string;
    const isUsable = candidate.length <= maxName && (candidate === prefix + name || count.get(candidate)?.length === 1);
    return isUsable ? candidate : `${candidate.slice(0, maxName - 9)}_${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
  });
}
