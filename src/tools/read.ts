// The `read` tool: lines of a text file with their numbers.
import { z } from 'zod';
import type { Tool, ToolResult } from '../ports/tool.ts';
import { openReadable } from './files/confine.ts';
import { hashFile, rememberVersion } from './files/file-version.ts';
import { openedSubjects, pathSubjects } from './files/path-subjects.ts';
import { previewRead } from './files/preview-path.ts';
import { type LinesRead, readLines } from './files/read-lines.ts';
import inputSchemas from './input-schemas.json' with { type: 'json' };
import { createToolFailure } from './refusal.ts';
import { formatCount } from './text.ts';

const Input = z.strictObject({
  path: z.string().min(1).max(4096).describe('File to read, relative to the workspace.'),
  offset: z.int().min(1).optional().describe('First line to show, counted from 1. Default 1.'),
  limit: z.int().min(1).max(100_000).optional().describe('Maximum number of lines to show. Default 2000.'),
});
type Input = z.infer<typeof Input>;

const defaultLimit = 2000;
const lineChars = 2000;
const textBytes = 96_000;
const scanBytes = 64 * 1024 * 1024;

export const read: Tool<Input> = {
  name: 'read',
  description:
    'Reads a text file of the workspace. Each line is preceded by its number and a tab, which are not part of the file. ' +
    'A long file is returned in parts; the last line of the result then gives the offset of the next part. Long lines are cut.',
  get input() {
    return Input;
  },
  inputSchema: inputSchemas.read,
  readOnly: true,
  portable: true,
  idempotent: true,
  timeoutMs: 30_000,
  maxOutputBytes: 131_072,
  taint: ['untrusted-file'],
  bySubject: true,
  hasPaths: true,
  subjects: (input, { workspace }) => pathSubjects(input.path, workspace),
  preview: (input, { workspace }) => previewRead(input.path, workspace),
  async execute(input, { workspace, readable, signal, memo, confirmTarget }) {
    signal.throwIfAborted();
    const opened = await openReadable({ workspace, readable }, input.path);
    if (!opened.ok) return createToolFailure(opened.reason);
    await using file = opened.file;
    await confirmTarget(openedSubjects(input.path, workspace, opened.shown));
    const wanted = { offset: input.offset ?? 1, limit: input.limit ?? defaultLimit, bytes: textBytes, scan: scanBytes, lineChars };
    const version = await hashFile(file);
    const taken = await readLines(file, wanted, signal);
    if (taken.binary) return createToolFailure(`${opened.shown} is a binary file of ${opened.stats.size} bytes; read shows only text`);
    rememberVersion(memo, opened.shown, version);
    return renderLines(taken, wanted.offset, { path: opened.shown, bytes: opened.stats.size });
  },
};

function renderLines(taken: LinesRead, offset: number, file: { path: string; bytes: number }): ToolResult {
  if (taken.texts.length === 0) {
    if (taken.end === 'scan')
      return createToolFailure(
        `line ${offset} of ${file.path} is past the first ${scanBytes} bytes (${taken.lines} lines), and read goes no further`,
      );
    if (taken.lines === 0) return { output: '[empty file]' };
    return createToolFailure(`${file.path} has ${formatCount(taken.lines, 'line')}; there is no line ${offset}`);
  }
  const numbered = taken.texts.map((text, index) => `${String(offset + index).padStart(6)}\t${text}`);
  return { output: [...numbered, ...rangeNotice(taken, offset, file.bytes)].join('\n') };
}

function rangeNotice(taken: LinesRead, offset: number, bytes: number): string[] {
  const range = `lines ${offset} to ${taken.lines} of a file of ${bytes} bytes`;
  if (taken.end === 'file') return [];
  if (taken.end === 'scan') return [`[${range}; reading stopped after ${scanBytes} bytes]`];
  return [`[${range}; continue with offset ${taken.lines + 1}]`];
}
