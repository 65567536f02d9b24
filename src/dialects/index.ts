// The dialects by name. Each one is a delegation contract: pure functions from tool input to a request and from a reply to a result.
// `shared/` holds only what at least two dialects use; everything else is in the dialect's own file or folder. No dialect reads the clock,
// files, the network or the state of runs.
import { RetinueError } from '../contract/error.ts';
import type { Json } from '../contract/json.ts';
import type { Dialect } from '../ports/dialect.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { dex } from './dex.ts';
import type { DialectExtensions } from './extensions.ts';
import { native } from './native.ts';
import { openfork } from './openfork.ts';
import { ralph } from './ralph.ts';
import { rx } from './rx.ts';
import { xzatoma } from './xzatoma.ts';

/** Settings of a dialect under the names that its source uses. Each factory checks its own. */
export type DialectConfig = Record<string, Json>;

const factories: Record<string, (config: DialectConfig, extensions?: DialectExtensions) => Dialect> = {
  native: () => native,
  ...{ ralph, dex, openfork, rx, xzatoma, claude, codex },
};

export const dialectNames: readonly string[] = Object.keys(factories);

/** Throws `unknown_dialect` for an unknown name and `invalid_config` for a wrong setting. */
export function makeDialect(name: string, config: DialectConfig = {}, extensions: DialectExtensions = {}): Dialect {
  const factory = Object.hasOwn(factories, name) ? factories[name] : undefined;
  if (!factory) throw new RetinueError('unknown_dialect', unknownNameMessage('dialect', name, dialectNames));
  return factory(config, extensions);
}
