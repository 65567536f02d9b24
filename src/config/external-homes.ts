// Where the homes of external agents are.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createExternalHomes, type ExternalHomes } from '../externals/homes.ts';
import { type Env, userStateFolder } from './user-folders.ts';

/** `folder`: another one than in the user's state folder. */
export function openExternalHomes(env: Env, folder?: string): ExternalHomes {
  return createExternalHomes({ folder: folder ?? join(userStateFolder(env), 'externals'), temporary: tmpdir() });
}
