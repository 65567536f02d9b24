// The `edit` tool: replaces a text in a file.
import { z } from 'zod';
import type { Memo, Tool, ToolResult } from '../ports/tool.ts';
import { cutDiff } from './files/diff.ts';
import { lastSeenVersion, maxHashedBytes, rememberVersion } from './files/file-version.ts';
import { pathSubjects } from './files/path-subjects.ts';
import { previewWrite } from './files/preview-path.ts';
import { isBinary } from './files/read-file.ts';
import {
  changeToArtifacts,
  isStale,
  openWriteTarget,
  readCurrent,
  replaceFile,
  staleMessage,
  toChangedFiles,
  type WriteTarget,
} from './files/replace-file.ts';
import inputSchemas from './input-schemas.json' with { type: 'json' };
import { createToolFailure, createToolRefusal, explainFileError, type Refusal } from './refusal.ts';
import { formatCount } from './text.ts';

const Input = z.strictObject({
  path: z.string().min(1).max(4096).describe('File to change, relative to the workspace. Read it first.'),
  old: z
    .string()
    .min(1)
    .describe(
      'The text to replace, exactly as in the file, including line breaks and indentation, without the line numbers that read adds.',
    ),
  new: z.string().describe('The text to replace it with.'),
  all: z.boolean().optional().describe('Replace every occurrence. Without it `old` must occur exactly once.'),
});
type Input = z.infer<typeof Input>;

const maxResultBytes = 2 * maxHashedBytes;
const shownDiff = 3000;

export const edit: Tool<Input> = {
  name: 'edit',
  description:
    'Replaces a text in a file of the workspace. You must have read the file in this run, and it must not have changed since. `old` must occur ' +
    'exactly once, unless you set `all`. Returns a diff of the change.',
  get input() {
    return Input;
  },
  inputSchema: inputSchemas.edit,
  readOnly: false,
  portable: true,
  idempotent: false,
  timeoutMs: 30_000,
  maxOutputBytes: 8192,
  taint: ['untrusted-file'],
  bySubject: true,
  hasPaths: true,
  subjects: (input, { workspace }) => pathSubjects(input.path, workspace),
  preview: (input, { workspace }) => previewWrite(input.path, workspace),
  async execute(input, { workspace, signal, memo, confirmTarget }) {
    signal.throwIfAborted();
    if (input.old === input.new) return createToolFailure('old and new are the same text; nothing was changed');
    const opened = await openWriteTarget(workspace, input.path, { create: false, confirm: confirmTarget });
    if (!opened.ok) return createToolFailure(opened.reason);
    const { target } = opened;
    await using _ = target.dir.handle;
    try {
      return await applyEdit(target, input, { signal, memo });
    } catch (error) {
      if (signal.aborted) throw error;
      return createToolFailure(explainFileError(error, target.path));
    }
  },
};

async function applyEdit(target: WriteTarget, input: Input, { signal, memo }: { signal: AbortSignal; memo: Memo }): Promise<ToolResult> {
  const { path } = target;
  const found = await readCurrent(target);
  if (!found.ok) return createToolFailure(found.reason);
  const { current } = found;
  if (current === null) return createToolFailure(`${path} does not exist; use write to create a file`);
  if (current.content === null)
    return createToolFailure(`${path} has ${current.stats.size} bytes; edit changes files of at most ${maxHashedBytes} bytes`);
  if (isBinary(current.content)) return createToolFailure(`${path} is a binary file; edit changes only text files`);
  if (lastSeenVersion(memo, path) === undefined) return createToolFailure(`${path} was not read in this run; read it first`);
  if (isStale(memo, path, current)) return createToolFailure(`${path} ${staleMessage}`);
  const changed = substitute(current.content, input);
  if (!changed.ok) return createToolFailure(`${path}: ${changed.reason}`);
  const version = await replaceFile(target, { content: changed.content, current, signal });
  if (version === null) return createToolFailure(`${path} ${staleMessage}`);
  rememberVersion(memo, path, version);
  const { artifacts, diff } = await changeToArtifacts(path, current, changed.content);
  const head = `changed ${path} (${formatCount(changed.count, 'replacement')})`;
  const changes = toChangedFiles(path, current, changed.content);
  return { output: diff === null ? head : `${head}\n${cutDiff(diff, shownDiff).trimEnd()}`, artifacts, changes };
}

type SubstituteResult = { ok: true; content: Buffer; count: number } | Refusal;

/** Works on bytes, so that invalid UTF-8 elsewhere in the file is preserved. */
function substitute(content: Buffer, input: Input): SubstituteResult {
  const bytes = content.toString('latin1');
  const latin = (text: string): string => Buffer.from(text.toWellFormed()).toString('latin1');
  let [old, now] = [latin(input.old), latin(input.new)];
  if (!bytes.includes(old) && bytes.includes('\r\n')) {
    // Models write plain line breaks even if the file has CRLF.
    [old, now] = [old, now].map((text) => text.replace(/\r?\n/g, '\r\n')) as [string, string];
  }
  if (!bytes.includes(old) && marks.test(input.old)) {
    // Results show invisible characters as marks such as ⟦U+200B⟧. Marks that are not in the file itself mean the character they name.
    [old, now] = [latin(replaceMarks(input.old, input.old)), latin(replaceMarks(input.new, input.old))];
  }
  const count = countOccurrences(bytes, old);
  if (count === 0)
    return createToolRefusal(
      marks.test(input.old) ? `${notFound}; a mark such as ⟦U+200B⟧ means one invisible character` : `${notFound}, including indentation`,
    );
  if (count > 1 && !input.all) return createToolRefusal(`old occurs ${count} times; include more of the surrounding text, or set all`);
  const size = bytes.length + count * (now.length - old.length);
  if (size > maxResultBytes)
    return createToolRefusal(`the result would have ${size} bytes; edit creates files of at most ${maxResultBytes} bytes`);
  return {
    ok: true,
    content: Buffer.from(
      bytes.replaceAll(old, () => now),
      'latin1',
    ),
    count,
  };
}

const marks = /⟦U\+([0-9A-F]{4,6})⟧/;
const notFound = 'old does not occur in the file; it must match exactly';

/** Replaces marks with the characters they name, but only marks that `known` also contains, so that no new invisible character is added. */
function replaceMarks(text: string, known: string): string {
  return text.replace(new RegExp(marks, 'g'), (mark, code) => {
    const point = Number.parseInt(code, 16);
    return known.includes(mark) && point <= 0x10ffff ? String.fromCodePoint(point) : mark;
  });
}

function countOccurrences(text: string, part: string): number {
  let count = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) count++;
  return count;
}
