// Errors that the program of a flow throws where nothing catches them: in a promise that it does not wait for, or in a timer. Node would end the process, and
// every other run in it, again after each restart. Instead the error ends the flow that it belongs to.
import { AsyncLocalStorage } from 'node:async_hooks';

/** Takes the stray errors of the flow whose code is running. */
const takeError = new AsyncLocalStorage<(error: unknown) => void>();

/** Settles like the program, or rejects with its first stray error. Later ones are warnings. */
export function withStrayErrors<T>(flow: string, program: () => Promise<T>): Promise<T> {
  const stray = Promise.withResolvers<never>();
  let isOver = false;
  const take = (error: unknown) => {
    if (isOver) process.emitWarning(`an error after the end of flow ${flow}: ${error instanceof Error ? error.message : String(error)}`);
    isOver = true;
    stray.reject(error);
  };
  const ended = takeError.run(take, program).finally(() => {
    isOver = true;
  });
  return Promise.race([ended, stray.promise]);
}

let isListening = false;

/** For processes that are Retinue's own. Errors of anything but a flow end the process as before. */
export function listenForStrayErrors(): void {
  if (isListening) return;
  isListening = true;
  process.on('unhandledRejection', (error) => {
    if (!endFlow(error)) throw error;
  });
  process.on('uncaughtException', function onException(error) {
    if (endFlow(error)) return;
    // Without listeners, Node prints it and ends the process.
    process.off('uncaughtException', onException);
    process.nextTick(() => {
      throw error;
    });
  });
}

/** False if the error is not one of a flow. Node calls listeners in the context of the code that failed. */
function endFlow(error: unknown): boolean {
  const take = takeError.getStore();
  take?.(error);
  return take !== undefined;
}
