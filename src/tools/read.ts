import { z } from 'zod';
import type { Tool, ToolResult } from '../ports/tool.ts';
import { openFile } from './files/confine.ts';
import { remember, versionOf } from './files/file-version.ts';
import { pathSubjects } from './files/path-subjects.ts';
import { type Taken, takeLines } from './files/read-lines.ts';
import { failure } from './refusal.ts';

const Input = z.strictObject({
  path: z.string().min(1).max(4096).describe('File to read, relative to the workspace.'),
  offset: z.int().min(1).optional().describe('First line to show, counted from 1. Default 1.'),
  limit: z.int().min(1).max(100_000).optional().describe('Most lines to show. Default 2000.'),
});
type Input = z.infer<typeof Input>;

const defaultLimit = 2000;
const lineChars = 2000;
const textBytes = 96_000;
const scanBytes = 64 * 1024 * 1024;

export const read: Tool<Input> = {
  name: 'read',
  description:
    'Reads a text file of the workspace. Every line comes with its number and a tab before it; neither is part of the file. ' +
    'Long files come in pieces: the last line of the result then says with which offset to go on. Long lines are cut.',
  input: Input,
  readOnly: true,
  portable: true,
  idempotent: true,
  timeoutMs: 30_000,
  maxOutputBytes: 131_072,
  taint: ['untrusted-file'],
  bySubject: true,
  subjects: (input, { workspace }) => pathSubjects(input.path, workspace),
  async execute(input, { workspace, signal, memo }) {
    signal.throwIfAborted();
    const opened = await openFile(workspace, input.path);
    if (!opened.ok) return failure(opened.reason);
    await using file = opened.file;
    const wanted = { offset: input.offset ?? 1, limit: input.limit ?? defaultLimit, bytes: textBytes, scan: scanBytes, lineChars };
    const version = await versionOf(file);
    const taken = await takeLines(file, wanted, signal);
    if (taken.binary) return failure(`${opened.path} is a binary file of ${opened.stats.size} bytes; read shows only text`);
    remember(memo, opened.path, version);
    return render(taken, wanted.offset, { path: opened.path, bytes: opened.stats.size });
  },
};

function render(taken: Taken, offset: number, file: { path: string; bytes: number }): ToolResult {
  if (taken.texts.length === 0) {
    if (taken.end === 'scan')
      return failure(
        `line ${offset} of ${file.path} is past the first ${scanBytes} bytes, which hold ${taken.lines} lines; no more is read`,
      );
    if (taken.lines === 0) return { output: '[empty file]' };
    return failure(`${file.path} has ${taken.lines} ${taken.lines === 1 ? 'line' : 'lines'}; there is no line ${offset}`);
  }
  const numbered = taken.texts.map((text, index) => `${String(offset + index).padStart(6)}\t${text}`);
  return { output: [...numbered, ...notice(taken, offset, file.bytes)].join('\n') };
}

function notice(taken: Taken, offset: number, bytes: number): string[] {
  const range = `lines ${offset} to ${taken.lines} of a file of ${bytes} bytes`;
  if (taken.end === 'file') return [];
  if (taken.end === 'scan') return [`[${range}; reading stopped after ${scanBytes} bytes]`];
  return [`[${range}; go on with offset ${taken.lines + 1}]`];
}
