import type { Stats } from 'node:fs';
import { lstat, opendir, readlink } from 'node:fs/promises';
import { z } from 'zod';
import type { Tool } from '../ports/tool.ts';
import { type Dir, entry, locate, openDir } from './files/confine.ts';
import { pathSubjects } from './files/path-subjects.ts';
import { isClosed, shown } from './files/paths.ts';
import { codeOf, explain, failure, kindOf } from './refusal.ts';
import { printable } from './text.ts';

const Input = z.strictObject({
  path: z.string().max(4096).describe('Directory to list, relative to the workspace; `.` is the workspace itself.'),
});
type Input = z.infer<typeof Input>;

const shownEntries = 1000;
/** A directory may hold millions of names: past this many they are no longer looked at. */
const readEntries = 100_000;

export const list: Tool<Input> = {
  name: 'list',
  description:
    'Lists a directory of the workspace, not what is below it: directories end with /, files come with their size, links with where they lead. ' +
    `At most ${shownEntries} entries, sorted by name.`,
  input: Input,
  readOnly: true,
  portable: true,
  idempotent: true,
  timeoutMs: 30_000,
  maxOutputBytes: 131_072,
  taint: ['untrusted-file'],
  bySubject: true,
  subjects: (input, { workspace }) => pathSubjects(input.path, workspace),
  async execute(input, { workspace, signal }) {
    signal.throwIfAborted();
    const located = await locate(workspace, input.path);
    if (!located.ok) return failure(located.reason);
    const opened = await openDir(located.root, located.path, { create: false });
    if (!opened.ok) return failure(opened.reason);
    await using _ = opened.dir.handle;
    try {
      const entries = await namesOf(opened.dir, signal);
      const first = entries.names.slice(0, shownEntries);
      const lines = await Promise.all(first.map((name) => describe(opened.dir, name)));
      signal.throwIfAborted();
      if (lines.length === 0) return { output: `[${shown(located.path)} is empty]` };
      return { output: [...lines, ...notice(entries)].join('\n') };
    } catch (error) {
      if (signal.aborted) throw error;
      return failure(explain(error, located.path));
    }
  },
};

interface Names {
  names: string[];
  complete: boolean;
}

async function namesOf(dir: Dir, signal: AbortSignal): Promise<Names> {
  const names: string[] = [];
  let complete = true;
  for await (const found of await opendir(entry(dir, '.'), { bufferSize: 1024 })) {
    signal.throwIfAborted();
    if (names.length === readEntries) {
      complete = false;
      break;
    }
    if (!isClosed(found.name)) names.push(found.name);
  }
  return { names: names.sort(), complete };
}

async function describe(dir: Dir, name: string): Promise<string> {
  const label = printable(name);
  let stats: Stats;
  try {
    stats = await lstat(entry(dir, name));
  } catch (error) {
    return `${label} (${codeOf(error) === 'ENOENT' ? 'gone, or its name is not UTF-8' : codeOf(error)})`;
  }
  if (stats.isDirectory()) return `${label}/`;
  if (stats.isFile()) return `${label} (${stats.size} bytes)`;
  if (!stats.isSymbolicLink()) return `${label} (${kindOf(stats)})`;
  const target = await readlink(entry(dir, name)).catch(() => '?');
  return `${label} (a link to ${printable(target)})`;
}

function notice({ names, complete }: Names): string[] {
  if (names.length <= shownEntries) return [];
  return [`[the first ${shownEntries} of ${complete ? '' : 'more than '}${names.length} entries]`];
}
