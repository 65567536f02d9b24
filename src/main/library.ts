// `createRetinue`: the library front-end with this process as its environment.
import { createLibrary } from '../library/create.ts';
import type { Retinue, RetinueOptions } from '../library/types.ts';
import { assembleApi } from './assemble.ts';

export function createRetinue(options: RetinueOptions): Retinue {
  return createLibrary(options, {
    assemble: assembleApi,
    env: process.env,
    cwd: () => process.cwd(),
    warn: (message) => process.emitWarning(message, 'RetinueWarning'),
  });
}
