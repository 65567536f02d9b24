// The dialects by name: contracts that parents know from elsewhere. Loaded only by those who use one.
import { RetinueError } from '../contract/error.ts';
import type { Json } from '../contract/json.ts';
import type { Dialect } from '../ports/dialect.ts';
import { dex } from './dex.ts';
import { native } from './native.ts';
import { openfork } from './openfork.ts';
import { ralph } from './ralph.ts';
import { rx } from './rx.ts';
import { xzatoma } from './xzatoma.ts';

/** Settings of a dialect, with the names of its source; each maker checks its own. */
export type DialectConfig = Record<string, Json>;

const makers: Record<string, (config: DialectConfig) => Dialect> = { native: () => native, ralph, dex, openfork, rx, xzatoma };

export const dialectNames: readonly string[] = Object.keys(makers);

/** Throws `unknown_dialect` for a name that there is none of, and `invalid_config` for a wrong setting. */
export function makeDialect(name: string, config: DialectConfig = {}): Dialect {
  const make = Object.hasOwn(makers, name) ? makers[name] : undefined;
  if (!make) throw new RetinueError('unknown_dialect', `there is no dialect \`${name}\`; there are: ${dialectNames.join(', ')}`);
  return make(config);
}
