// When the user last saw the open approval questions of a database. An answer that names only a run must not apply to a question that came later.
import { join } from 'node:path';
import { z } from 'zod';
import { Instant } from '../contract/ids.ts';
import { readUserFile, writeUserFile } from './user-file.ts';
import { type Env, userConfigFolder } from './user-folders.ts';

const maxBytes = 1_048_576;
/** Databases to remember; the oldest are forgotten. */
const maxDatabases = 200;

const ListFile = z.strictObject({ version: z.literal(1), shown: z.record(z.string(), Instant) });

/** Null if they were never listed. An invalid file counts as none. */
export function questionsShownAt(env: Env, database: string): string | null {
  return readShown(env)[database] ?? null;
}

/** Throws `usage` if the file cannot be written. */
export function saveQuestionsShown(env: Env, database: string, at: string): void {
  const { [database]: _, ...others } = readShown(env);
  const kept = Object.entries(others).slice(-(maxDatabases - 1));
  writeUserFile(listPath(env), { version: 1, shown: { ...Object.fromEntries(kept), [database]: at } });
}

function readShown(env: Env): Record<string, string> {
  try {
    return ListFile.parse(JSON.parse(readUserFile(listPath(env), maxBytes) ?? '')).shown;
  } catch {
    return {};
  }
}

function listPath(env: Env): string {
  return join(userConfigFolder(env), 'questions.json');
}
