// The `list` tool: the entries of one directory.
import type { Stats } from 'node:fs';
import { lstat, opendir, readlink } from 'node:fs/promises';
import { z } from 'zod';
import type { Tool } from '../ports/tool.ts';
import { isNameHidden } from '../text/closed-paths.ts';
import { entryPath, locateReadable, type OpenDirectory, openDirectory } from './files/confine.ts';
import { openedSubjects, pathSubjects } from './files/path-subjects.ts';
import { displayPath, isClosed } from './files/paths.ts';
import { previewRead } from './files/preview-path.ts';
import inputSchemas from './input-schemas.json' with { type: 'json' };
import { createToolFailure, describeKind, explainFileError, findErrorCode } from './refusal.ts';
import { describeClosedPaths, escapeControls } from './text.ts';

const Input = z.strictObject({
  path: z.string().max(4096).describe('Directory to list, relative to the workspace; `.` is the workspace itself.'),
});
type Input = z.infer<typeof Input>;

const shownEntries = 1000;
/** A directory may have millions of names; reading stops after this many. */
const maxReadEntries = 100_000;

export const list: Tool<Input> = {
  name: 'list',
  description:
    'Lists one directory of the workspace, not recursively. Directories end with /, files show their size, links their target. ' +
    ` At most ${shownEntries} entries, sorted by name.`,
  get input() {
    return Input;
  },
  inputSchema: inputSchemas.list,
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
  async execute(input, { workspace, readable, signal, confirmTarget, rights }) {
    signal.throwIfAborted();
    const located = await locateReadable({ workspace, readable }, input.path);
    if (!located.ok) return createToolFailure(located.reason);
    const opened = await openDirectory(located.root, located.path, { create: false });
    if (!opened.ok) return createToolFailure(opened.reason);
    await using _ = opened.dir.handle;
    const shown = located.prefix + located.path;
    await confirmTarget(openedSubjects(input.path, workspace, shown));
    try {
      const prefix = located.prefix + (located.path === '' ? '' : `${located.path}/`);
      const isHidden = (name: string) => isNameHidden(rights.closedPaths.read, `${prefix}${name}`);
      const entries = await readNames(opened.dir, { signal, isHidden });
      const first = entries.names.slice(0, shownEntries);
      const lines = await Promise.all(first.map((name) => describeEntry(opened.dir, name)));
      signal.throwIfAborted();
      if (lines.length + entries.hidden === 0) return { output: `[${displayPath(shown)} is empty]` };
      return { output: [...lines, ...cutNotice(entries)].join('\n') };
    } catch (error) {
      if (signal.aborted) throw error;
      return createToolFailure(explainFileError(error, shown));
    }
  },
};

interface Names {
  names: string[];
  complete: boolean;
  /** Entries that rules close. */
  hidden: number;
}

async function readNames(
  dir: OpenDirectory,
  { signal, isHidden }: { signal: AbortSignal; isHidden(name: string): boolean },
): Promise<Names> {
  const names: string[] = [];
  let hidden = 0;
  let complete = true;
  for await (const found of await opendir(entryPath(dir, '.'), { bufferSize: 1024 })) {
    signal.throwIfAborted();
    if (names.length === maxReadEntries) {
      complete = false;
      break;
    }
    if (isHidden(found.name)) hidden++;
    else if (!isClosed(found.name)) names.push(found.name);
  }
  return { names: names.sort(), complete, hidden };
}

async function describeEntry(dir: OpenDirectory, name: string): Promise<string> {
  const label = escapeControls(name);
  let stats: Stats;
  try {
    stats = await lstat(entryPath(dir, name));
  } catch (error) {
    return `${label} (${findErrorCode(error) === 'ENOENT' ? 'gone, or its name is not UTF-8' : findErrorCode(error)})`;
  }
  if (stats.isDirectory()) return `${label}/`;
  if (stats.isFile()) return `${label} (${stats.size} bytes)`;
  if (!stats.isSymbolicLink()) return `${label} (${describeKind(stats)})`;
  const target = await readlink(entryPath(dir, name)).catch(() => '?');
  return `${label} (a link to ${escapeControls(target)})`;
}

function cutNotice({ names, complete, hidden }: Names): string[] {
  const closed = hidden === 0 ? [] : [describeClosedPaths(hidden, 'entry')];
  if (names.length <= shownEntries) return closed;
  return [
    complete
      ? `[the first ${shownEntries} of ${names.length} entries]`
      : `[${shownEntries} of more than ${names.length} entries; the list is incomplete]`,
    ...closed,
  ];
}
