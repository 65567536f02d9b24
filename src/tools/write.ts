import { z } from 'zod';
import type { Tool, ToolResult } from '../ports/tool.ts';
import { remember } from './files/file-version.ts';
import { pathSubjects } from './files/path-subjects.ts';
import { artifactsOf, type Current, isStale, lookAt, openTarget, replace, stale } from './files/replace-file.ts';
import { explain, failure } from './refusal.ts';

const Input = z.strictObject({
  path: z.string().min(1).max(4096).describe('File to write, relative to the workspace. Missing directories are made.'),
  content: z.string().describe('The whole new text of the file.'),
});
type Input = z.infer<typeof Input>;

export const write: Tool<Input> = {
  name: 'write',
  description:
    'Writes a text file of the workspace: makes it, or replaces all that is in it. The file is never seen half written. ' +
    'Refused when the file has changed since you last read it. To change a part of a file, use edit.',
  input: Input,
  readOnly: false,
  portable: true,
  idempotent: true,
  timeoutMs: 30_000,
  maxOutputBytes: 8192,
  bySubject: true,
  subjects: (input, { workspace }) => pathSubjects(input.path, workspace),
  async execute(input, { workspace, signal, memo }) {
    signal.throwIfAborted();
    const opened = await openTarget(workspace, input.path, { create: true });
    if (!opened.ok) return failure(opened.reason);
    const { target } = opened;
    await using _ = target.dir.handle;
    try {
      const found = await lookAt(target);
      if (!found.ok) return failure(found.reason);
      const { current } = found;
      if (current !== null && isStale(memo, target.path, current)) return failure(`${target.path} ${stale}`);
      const content = Buffer.from(input.content.toWellFormed());
      const version = await replace(target, { content, current, signal });
      if (version === null) return failure(`${target.path} ${stale}`);
      remember(memo, target.path, version);
      return await report(target.path, current, content);
    } catch (error) {
      if (signal.aborted) throw error;
      return failure(explain(error, target.path));
    }
  },
};

async function report(path: string, before: Current | null, content: Buffer): Promise<ToolResult> {
  const { artifacts } = await artifactsOf(path, before, content);
  const size = before === null ? `${content.length} bytes` : `${before.stats.size} to ${content.length} bytes`;
  return { output: `${before === null ? 'created' : 'changed'} ${path} (${size})`, artifacts };
}
