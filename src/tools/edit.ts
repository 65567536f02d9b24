import { z } from 'zod';
import type { Tool, ToolResult } from '../ports/tool.ts';
import { cutLines } from './files/diff.ts';
import { comparedBytes, remember, seen } from './files/file-version.ts';
import { pathSubjects } from './files/path-subjects.ts';
import { artifactsOf, isStale, lookAt, openTarget, replace, stale, type Target } from './files/replace-file.ts';
import { explain, failure, type Refusal, refuse } from './refusal.ts';
import { plural } from './text.ts';

const Input = z.strictObject({
  path: z.string().min(1).max(4096).describe('File to change, relative to the workspace. Read it first.'),
  old: z
    .string()
    .min(1)
    .describe(
      'The text to replace, exactly as it stands in the file, line breaks and indentation included, without the line numbers of read.',
    ),
  new: z.string().describe('The text to put in its place.'),
  all: z.boolean().optional().describe('Replace every occurrence. Without it `old` must occur exactly once.'),
});
type Input = z.infer<typeof Input>;

const maxResultBytes = 2 * comparedBytes;
const shownDiff = 3000;

export const edit: Tool<Input> = {
  name: 'edit',
  description:
    'Replaces a text in a file of the workspace. The file must have been read in this run and not changed since; `old` must occur exactly ' +
    'once, or set `all`. Shows what changed as a diff.',
  input: Input,
  readOnly: false,
  portable: true,
  idempotent: false,
  timeoutMs: 30_000,
  maxOutputBytes: 8192,
  taint: ['untrusted-file'],
  bySubject: true,
  subjects: (input, { workspace }) => pathSubjects(input.path, workspace),
  async execute(input, { workspace, signal, memo }) {
    signal.throwIfAborted();
    if (input.old === input.new) return failure('old and new are the same text; nothing was changed');
    const opened = await openTarget(workspace, input.path, { create: false });
    if (!opened.ok) return failure(opened.reason);
    const { target } = opened;
    await using _ = target.dir.handle;
    try {
      return await change(target, input, { signal, memo });
    } catch (error) {
      if (signal.aborted) throw error;
      return failure(explain(error, target.path));
    }
  },
};

async function change(
  target: Target,
  input: Input,
  { signal, memo }: { signal: AbortSignal; memo: Map<string, string> },
): Promise<ToolResult> {
  const { path } = target;
  const found = await lookAt(target);
  if (!found.ok) return failure(found.reason);
  const { current } = found;
  if (current === null) return failure(`${path} does not exist; write makes new files`);
  if (current.content === null) return failure(`${path} has ${current.stats.size} bytes; edit takes files of at most ${comparedBytes}`);
  if (current.content.subarray(0, 8192).includes(0)) return failure(`${path} is a binary file; edit changes only text`);
  if (seen(memo, path) === undefined) return failure(`${path} was not read in this run; read it first`);
  if (isStale(memo, path, current)) return failure(`${path} ${stale}`);
  const changed = substitute(current.content, input);
  if (!changed.ok) return failure(`${path}: ${changed.reason}`);
  const version = await replace(target, { content: changed.content, current, signal });
  if (version === null) return failure(`${path} ${stale}`);
  remember(memo, path, version);
  const { artifacts, diff } = await artifactsOf(path, current, changed.content);
  const head = `changed ${path} (${plural(changed.count, 'replacement')})`;
  return { output: diff === null ? head : `${head}\n${cutLines(diff, shownDiff).trimEnd()}`, artifacts };
}

type Substituted = { ok: true; content: Buffer; count: number } | Refusal;

/** Works on bytes, so that what is no valid UTF-8 elsewhere in the file stays as it is. */
function substitute(content: Buffer, input: Input): Substituted {
  const bytes = content.toString('latin1');
  const latin = (text: string): string => Buffer.from(text.toWellFormed()).toString('latin1');
  let [old, now] = [latin(input.old), latin(input.new)];
  if (!bytes.includes(old) && bytes.includes('\r\n')) {
    // Models write plain line breaks whatever the file has.
    [old, now] = [old, now].map((text) => text.replace(/\r?\n/g, '\r\n')) as [string, string];
  }
  if (!bytes.includes(old) && marks.test(input.old)) {
    // What nobody sees is shown as a mark. Where the marks are not in the file itself they stand for what they name.
    [old, now] = [latin(unmarked(input.old, input.old)), latin(unmarked(input.new, input.old))];
  }
  const count = occurrences(bytes, old);
  if (count === 0)
    return refuse(
      marks.test(input.old)
        ? `${notFound}; a mark such as ⟦U+200B⟧ stands for one character that is not seen`
        : `${notFound}, indentation included`,
    );
  if (count > 1 && !input.all) return refuse(`old occurs ${count} times; give more of the text around it, or set all`);
  const size = bytes.length + count * (now.length - old.length);
  if (size > maxResultBytes) return refuse(`it would have ${size} bytes; edit makes files of at most ${maxResultBytes}`);
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
const notFound = 'old does not occur in it; it must match exactly';

/** The text with the characters that its marks name; only those that `known` has too, so that none is put in that was not there. */
function unmarked(text: string, known: string): string {
  return text.replace(new RegExp(marks, 'g'), (mark, code) => {
    const point = Number.parseInt(code, 16);
    return known.includes(mark) && point <= 0x10ffff ? String.fromCodePoint(point) : mark;
  });
}

function occurrences(text: string, part: string): number {
  let count = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) count++;
  return count;
}
