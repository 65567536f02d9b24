// The private git folder of a checkout: written by hand, so that no template and no configuration of the user is part of it.
import { copyFile, mkdir, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Attributes in `info/attributes` win over those of the files, so nothing is converted: a snapshot has the bytes of the files, and no filter
 * is started.
 */
const attributes = '* -text -ident -filter -working-tree-encoding -export-subst !eol\n';

export interface PrivateGitOptions {
  /** More patterns of ignored files, besides those of `.gitignore` in the files. */
  ignore?: string;
  isSha256?: boolean;
  /** Folders with objects to borrow. */
  objects?: readonly string[];
  /** What HEAD is. */
  head?: string | undefined;
  isBare?: boolean;
  /** The text of the source's file `shallow`, if it has one: its history is cut there. */
  shallow?: string | null;
}

/** Creates or completes the folder. Files that exist are written again. */
export async function writeGitFolder(folder: string, options: PrivateGitOptions = {}): Promise<void> {
  const { ignore = '', isSha256 = false, objects = [], head, isBare = false, shallow = null } = options;
  for (const name of ['objects/info', 'refs/heads', 'info']) await mkdir(join(folder, name), { recursive: true, mode: 0o700 });
  const write = (name: string, text: string) => writeFile(join(folder, name), text, { mode: 0o600 });
  const format = isSha256
    ? '\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n[core]\n'
    : '\trepositoryformatversion = 0\n';
  await write('config', `[core]\n${format}\tbare = ${isBare}\n\tlogAllRefUpdates = false\n`);
  await write('info/attributes', attributes);
  await write('info/exclude', ignore);
  await write('HEAD', `${head ?? 'ref: refs/heads/none'}\n`);
  if (objects.length > 0) await write('objects/info/alternates', `${objects.join('\n')}\n`);
  if (shallow !== null) await write('shallow', shallow);
}

/** Copies an index with its time, by which git recognises files that were changed right after it was written. False if there is none. */
export async function copyIndex(from: string, to: string): Promise<boolean> {
  try {
    const { atimeMs, mtimeMs } = await stat(from);
    await copyFile(from, to);
    // Rounded down: an older time makes git look at more files, never at fewer.
    await utimes(to, Math.floor(atimeMs) / 1000, Math.floor(mtimeMs) / 1000);
    return true;
  } catch {
    return false;
  }
}
