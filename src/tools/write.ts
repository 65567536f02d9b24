// The `write` tool: creates a file or replaces its whole content.
import { z } from 'zod';
import type { Tool, ToolResult } from '../ports/tool.ts';
import { rememberVersion } from './files/file-version.ts';
import { pathSubjects } from './files/path-subjects.ts';
import { previewWrite } from './files/preview-path.ts';
import {
  type CurrentFile,
  changeToArtifacts,
  isStale,
  openWriteTarget,
  readCurrent,
  replaceFile,
  staleMessage,
  toChangedFiles,
} from './files/replace-file.ts';
import inputSchemas from './input-schemas.json' with { type: 'json' };
import { createToolFailure, explainFileError } from './refusal.ts';

const Input = z.strictObject({
  path: z.string().min(1).max(4096).describe('File to write, relative to the workspace. Missing directories are created.'),
  content: z.string().describe('The complete new text of the file.'),
});
type Input = z.infer<typeof Input>;

export const write: Tool<Input> = {
  name: 'write',
  description:
    'Writes a text file of the workspace: creates it, or replaces its whole content. Readers never see a half-written file. ' +
    'Fails if the file has changed since you last read it. To change part of a file, use edit.',
  get input() {
    return Input;
  },
  inputSchema: inputSchemas.write,
  readOnly: false,
  portable: true,
  idempotent: true,
  timeoutMs: 30_000,
  maxOutputBytes: 8192,
  bySubject: true,
  hasPaths: true,
  subjects: (input, { workspace }) => pathSubjects(input.path, workspace),
  preview: (input, { workspace }) => previewWrite(input.path, workspace),
  async execute(input, { workspace, signal, memo, confirmTarget }) {
    signal.throwIfAborted();
    const opened = await openWriteTarget(workspace, input.path, { create: true, confirm: confirmTarget });
    if (!opened.ok) return createToolFailure(opened.reason);
    const { target } = opened;
    await using _ = target.dir.handle;
    try {
      const found = await readCurrent(target);
      if (!found.ok) return createToolFailure(found.reason);
      const { current } = found;
      if (current !== null && isStale(memo, target.path, current)) return createToolFailure(`${target.path} ${staleMessage}`);
      const content = Buffer.from(input.content.toWellFormed());
      const version = await replaceFile(target, { content, current, signal });
      if (version === null) return createToolFailure(`${target.path} ${staleMessage}`);
      rememberVersion(memo, target.path, version);
      return await renderResult(target.path, current, content);
    } catch (error) {
      if (signal.aborted) throw error;
      return createToolFailure(explainFileError(error, target.path));
    }
  },
};

async function renderResult(path: string, before: CurrentFile | null, content: Buffer): Promise<ToolResult> {
  const { artifacts } = await changeToArtifacts(path, before, content);
  const size = before === null ? `${content.length} bytes` : `${before.stats.size} to ${content.length} bytes`;
  return {
    output: `${before === null ? 'created' : 'changed'} ${path} (${size})`,
    artifacts,
    changes: toChangedFiles(path, before, content),
  };
}
