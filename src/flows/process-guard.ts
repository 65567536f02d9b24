// The code of a flow shares its process with Retinue and its other runs.
//
// 1. Standard output is for the result of the command, so what a flow prints goes to standard error.
// 2. A flow cannot end the process: the command would end with a run that has not ended, and with the exit code that the flow chose.
// 3. A stray error, in a promise that the program does not wait for or in a timer, ends the flow. Node would end the process, again after each restart.
//
// Whether code is of a flow is decided by its asynchronous context: whatever the flow begins is in it too, such as timers and the packages that it uses.
import { AsyncLocalStorage } from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';
import { RetinueError } from '../contract/error.ts';
import type { FlowSteps } from '../ports/flow.ts';

/** Takes stray errors of the code of a flow. */
type TakeError = (error: unknown) => void;

const context = new AsyncLocalStorage<TakeError | undefined>();
let isInstalled = false;

/** Calls code of a flow that is not its program, such as the top level of its files. */
export function callGuarded<T>(work: () => T, takeError: TakeError = warnOfError): T {
  installGuard();
  return context.run(takeError, work);
}

/** Runs the program of a flow. Settles like it, or rejects with its first stray error; later ones are warnings. */
export function runGuarded<T>(steps: FlowSteps, program: (steps: FlowSteps) => Promise<T>): Promise<T> {
  const stray = Promise.withResolvers<never>();
  let isOver = false;
  const takeError = (error: unknown) => {
    if (isOver) warnOfError(error);
    isOver = true;
    stray.reject(error);
  };
  const ended = callGuarded(() => program(leaveGuard(steps, takeError)), takeError).finally(() => {
    isOver = true;
  });
  return Promise.race([ended, stray.promise]);
}

function warnOfError(error: unknown): void {
  process.emitWarning(`an error that a flow did not catch: ${error instanceof Error ? error.message : String(error)}`);
}

/** Steps for a guarded program: Retinue's part of them is not code of the flow, but side effects and checks are. */
function leaveGuard(steps: FlowSteps, takeError: TakeError): FlowSteps {
  const leave = <T>(work: () => T): T => context.run(undefined, work);
  const enter = <T>(work: () => T): T => context.run(takeError, work);
  return {
    workspace: steps.workspace,
    delegate: (brief, { check, ...options }, at) =>
      leave(() => steps.delegate(brief, { ...options, check: check && ((value) => enter(() => check(value))) }, at)),
    cancel: (step, reason) => leave(() => steps.cancel(step, reason)),
    step: (name, effect, options, at) => leave(() => steps.step(name, (signal) => enter(() => effect(signal)), options, at)),
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
  // An `undefined` that is passed on would replace `process.exitCode`.
  process.exit = (...code) => {
    if (!context.getStore()) return exit(...code);
    throw new RetinueError('usage', 'a flow may not end the process with process.exit; return to complete it, or throw an error to fail');
  };
  // For `import { exit } from 'node:process'`.
  syncBuiltinESMExports();
  process.on('unhandledRejection', (error) => {
    if (!takeStrayError(error)) throw error;
  });
  process.on('uncaughtException', function onException(error) {
    if (takeStrayError(error)) return;
    // Without listeners, Node prints it and ends the process.
    process.off('uncaughtException', onException);
    process.nextTick(() => {
      throw error;
    });
  });
}

/** False if the error is not one of a flow. Node calls listeners in the context of the code that failed. */
function takeStrayError(error: unknown): boolean {
  const takeError = context.getStore();
  takeError?.(error);
  return takeError !== undefined;
}
