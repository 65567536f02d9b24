// The module `retinue/dialects`: contracts that parents know from elsewhere. Loaded only by those who use one.
import { RetinueError } from '../contract/error.ts';
import type { Json } from '../contract/json.ts';
import type { Dialect } from '../ports/dialect.ts';
import { native } from './native.ts';

/** Settings of a dialect, with the names of its source; checked where the configuration was read. */
export type DialectConfig = Record<string, Json>;

const makers: Record<string, (config: DialectConfig) => Dialect> = {
  native: () => native,
};

export const dialectNames: readonly string[] = Object.keys(makers);

/** Rejects a name that there is none of with `unknown_dialect`. */
export function makeDialect(name: string, config: DialectConfig = {}): Dialect {
  const make = makers[name];
  if (!make) throw new RetinueError('unknown_dialect', `there is no dialect \`${name}\`; there are: ${dialectNames.join(', ')}`);
  return make(config);
}
