// Loop versions by number. New runs use the current one; a run that already started keeps its own.
import { RetinueError } from '../contract/error.ts';
import type { LoopVersion } from './loop-texts.ts';
import { loopV1 } from './loop-v1.ts';
import { loopV2 } from './loop-v2.ts';
import { loopV3 } from './loop-v3.ts';
import { loopV4 } from './loop-v4.ts';
import { loopV5 } from './loop-v5.ts';

export type { LoopVersion } from './loop-texts.ts';

const versions = new Map([loopV1, loopV2, loopV3, loopV4, loopV5].map((each) => [each.version, each]));

export const currentLoopVersion = loopV5.version;

/** Without a number: the current version. Throws `store_newer` for one that this program does not know. */
export function findLoopVersion(version: number = currentLoopVersion): LoopVersion {
  const known = versions.get(version);
  if (known) return known;
  throw new RetinueError('store_newer', `a run was started by a newer Retinue (loop version ${version}); update Retinue to continue it`);
}
