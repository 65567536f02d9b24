// The program as the torture runs it: the built command line, with hooks that kill the process at an armed crash point. RETINUE_CRASH=<point>:<n>
// arms the n-th time that the process reaches the point (src/ports/crash.ts lists the points). Child processes do not get the variable.
import type { AssemblyHooks } from '../../src/main/hooks.ts';
import { addCrashPoints, addStoreCrashPoints } from '../../src/testing/crash.ts';
import { armCrash } from './arm-crash.ts';

// Not a literal, so that the types do not depend on a build.
const bundle = new URL('../../dist/cli.js', import.meta.url).href;
const { main } = (await import(bundle)) as typeof import('../../src/main/cli.ts');
const crash = armCrash(process.env.RETINUE_CRASH);
const hooks: AssemblyHooks | undefined = crash && {
  crash,
  wrapStore: (store) => addStoreCrashPoints(store, crash),
  wrapRuntime: (options) => addCrashPoints(options, crash),
};
await main(process.argv.slice(2), hooks);
