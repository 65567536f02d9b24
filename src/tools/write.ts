import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { access, lstat, open, rename, unlink } from 'node:fs/promises';
import { z } from 'zod';
import type { Tool, ToolResult } from '../ports/tool.ts';
import { type Dir, entry, isAliasOf, locate, openDir, split } from './confine.ts';
import { inside, isProtected, protectedAliases, shown } from './paths.ts';
import { codeOf, explain, failure, kindOf } from './refusal.ts';
import { pathSubjects } from './subject.ts';

const Input = z.strictObject({
  path: z.string().min(1).max(4096).describe('File to write, relative to the workspace. Missing directories are made.'),
  content: z.string().describe('The whole new text of the file.'),
});
type Input = z.infer<typeof Input>;

export const write: Tool<Input> = {
  name: 'write',
  description: 'Writes a text file of the workspace: makes it, or replaces all that is in it. The file is never seen half written.',
  input: Input,
  readOnly: false,
  idempotent: true,
  subjects: (input, { workspace }) => pathSubjects(input.path, workspace),
  async execute(input, { workspace, signal }) {
    signal.throwIfAborted();
    const located = await locate(workspace, input.path);
    if (!located.ok) return failure(located.reason);
    const { root, path } = located;
    const asked = inside([root, workspace], input.path) ?? path;
    if (isProtected(asked) || isProtected(path) || (await isAliasOf(root, path, protectedAliases))) {
      return failure(`${shown(asked)} is protected: settings, hooks and agents that the user's programs obey are not written by tools`);
    }
    const { parent, name } = split(path);
    if (name === null) return failure(`${shown(path)} is a directory`);
    const opened = await openDir(root, parent, { create: true });
    if (!opened.ok) return failure(opened.reason);
    await using _ = opened.dir.handle;
    try {
      const before = await existing(opened.dir, name);
      const reason = before === null ? null : await whyNot(opened.dir, name, before);
      if (reason !== null) return failure(`${path} ${reason}`);
      const content = Buffer.from(input.content.toWellFormed());
      await replace(opened.dir, name, { content, before, signal });
      return report(path, before, content.length);
    } catch (error) {
      if (signal.aborted) throw error;
      return failure(explain(error, path));
    }
  },
};

async function existing(dir: Dir, name: string): Promise<Stats | null> {
  try {
    return await lstat(entry(dir, name));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Why a thing that is there must not be replaced. Under more than one name it may also lie outside the workspace. */
async function whyNot(dir: Dir, name: string, stats: Stats): Promise<string | null> {
  if (!stats.isFile()) return `is ${kindOf(stats)}, not a file`;
  if (stats.nlink > 1) return 'has more than one name (hard links) and is not written';
  // Replacing needs no right to the file itself, so a read-only one would otherwise be lost.
  const writable = await access(entry(dir, name), constants.W_OK).then(
    () => true,
    () => false,
  );
  return writable ? null : 'is read-only';
}

/** Writes beside the file and then takes its place: readers see the old text or the new one. */
async function replace(dir: Dir, name: string, change: { content: Buffer; before: Stats | null; signal: AbortSignal }): Promise<void> {
  const { content, before, signal } = change;
  const temporary = entry(dir, `.retinue-${randomBytes(8).toString('hex')}.tmp`);
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const file = await open(temporary, flags, 0o666);
  try {
    try {
      await file.writeFile(content, { signal });
      if (before !== null) {
        await file.chmod(before.mode & 0o777);
        // Only root can give files away, and only for root would the owner change.
        await file.chown(before.uid, before.gid).catch(() => {});
      }
    } finally {
      await file.close();
    }
    signal.throwIfAborted();
    await rename(temporary, entry(dir, name));
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw error;
  }
}

function report(path: string, before: Stats | null, bytes: number): ToolResult {
  const title = before === null ? 'created' : 'changed';
  const size = before === null ? `${bytes} bytes` : `${before.size} to ${bytes} bytes`;
  return { output: `${title} ${path} (${size})`, artifacts: [{ kind: 'path', value: path, title, bytes }] };
}
