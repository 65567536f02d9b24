// The code of a flow shares its process with Retinue. Standard output is for the result of the command, so what a flow prints goes to standard error.
// And it cannot end the process: the command would end with a run that has not ended, and with the exit code that the flow chose.
//
// Whether code is of a flow is decided by its asynchronous context: whatever the flow begins is in it too, such as timers and the packages that it uses.
import { AsyncLocalStorage } from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';
import { RetinueError } from '../contract/error.ts';
import type { FlowSteps } from '../ports/flow.ts';

const context = new AsyncLocalStorage<true | undefined>();
let isInstalled = false;

/** Calls code of a flow. */
export function callGuarded<T>(work: () => T): T {
  installGuard();
  return context.run(true, work);
}

/** Steps for a guarded program: Retinue's part of them is not code of the flow, but side effects and checks are. */
export function leaveGuard(steps: FlowSteps): FlowSteps {
  const leave = <T>(work: () => T): T => context.run(undefined, work);
  return {
    workspace: steps.workspace,
    delegate: (brief, { check, ...options }, at) =>
      leave(() => steps.delegate(brief, { ...options, check: check && ((value) => callGuarded(() => check(value))) }, at)),
    cancel: (step, reason) => leave(() => steps.cancel(step, reason)),
    step: (name, effect, options, at) => leave(() => steps.step(name, (signal) => callGuarded(() => effect(signal)), options, at)),
    ask: (question, options, at) => leave(() => steps.ask(question, options, at)),
    sleep: (ms, at) => leave(() => steps.sleep(ms, at)),
    log: (text, at) => leave(() => steps.log(text, at)),
    apply: (runIds) => leave(() => steps.apply(runIds)),
  };
}

function installGuard(): void {
  if (isInstalled) return;
  isInstalled = true;
  const { stdout } = process;
  const write = stdout.write.bind(stdout) as (...args: unknown[]) => boolean;
  stdout.write = ((...args: Parameters<typeof process.stderr.write>) =>
    context.getStore() ? process.stderr.write(...args) : write(...args)) as typeof stdout.write;
  const exit = process.exit.bind(process);
  process.exit = (code) => {
    if (!context.getStore()) return exit(code);
    throw new RetinueError('usage', 'a flow may not end the process with process.exit; return to complete it, or throw an error to fail');
  };
  // For `import { exit } from 'node:process'`.
  syncBuiltinESMExports();
}
