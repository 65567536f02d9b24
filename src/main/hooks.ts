// The seam for the torture test: its own entry point (test/torture/retinue.ts) passes hooks that kill the process at a chosen moment.
// bin/retinue.js passes none.
import type { RuntimeOptions } from '../kernel/runtime.ts';
import type { Crash } from '../ports/crash.ts';
import type { Store } from '../ports/store.ts';

export interface AssemblyHooks {
  /** Called by the SQLite store and the process host at points inside them. */
  crash: Crash;
  wrapStore(store: Store): Store;
  wrapRuntime(options: RuntimeOptions): RuntimeOptions;
}
