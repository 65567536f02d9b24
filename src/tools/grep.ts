import { z } from 'zod';
import type { Tool, ToolResult } from '../ports/tool.ts';
import { type Dir, locate, openDir, openFile, split } from './files/confine.ts';
import { pathSubjects } from './files/path-subjects.ts';
import { isClosed } from './files/paths.ts';
import { failure, type Refusal, refuse } from './refusal.ts';
import { Smallest } from './search/first-sorted.ts';
import { type Match, readMatches } from './search/parse-matches.ts';
import { confirmed } from './search/recheck.ts';
import { leaveOut, search } from './search/ripgrep.ts';
import { plural, printable } from './text.ts';

const Input = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(2000)
    .describe('Regular expression (the syntax of Rust and ripgrep: no look-around, no back-references), for one line.'),
  path: z.string().max(4096).optional().describe('File or directory to search, relative to the workspace. Default: the workspace.'),
  glob: z
    .string()
    .min(1)
    .max(1000)
    .optional()
    .describe(
      'Only files of which this is true, as in .gitignore: `*.ts` in every directory, `/src/**` from the path on, `!*.md` all but these.',
    ),
});
type Input = z.infer<typeof Input>;

const shownLines = 1000;
const shownBytes = 48_000;
const maxFile = 32 * 1024 * 1024;

export const grep: Tool<Input> = {
  name: 'grep',
  description:
    'Finds lines in the files of the workspace by a regular expression. Each result reads path:line:text; long lines are cut; ' +
    `at most ${shownLines}, sorted by path. Left out are binary files, links, files over 32 MiB, what .gitignore names, and .git and node_modules, ` +
    'unless path or glob name them.',
  input: Input,
  readOnly: true,
  portable: true,
  idempotent: true,
  timeoutMs: 10_000,
  maxOutputBytes: 65_536,
  taint: ['untrusted-file'],
  subjects: (input, { workspace }) => pathSubjects(input.path ?? '.', workspace),
  async execute(input, { workspace, signal }) {
    signal.throwIfAborted();
    const problem = [input.pattern, input.glob ?? ''].find((text) => text.includes('\0'));
    if (problem !== undefined) return failure('pattern and glob have no NUL characters');
    const place = await placeOf(workspace, input.path ?? '.');
    if (!place.ok) return failure(place.reason);
    await using _ = place.dir.handle;
    const found = new Smallest<Match>(shownLines, (a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line));
    const prefix = place.start === '' ? '' : `${place.start}/`;
    const onOutput = readMatches((match) => {
      const path = prefix + match.path.replace(/^\.\//, '');
      if (!isClosed(path)) found.add({ ...match, path });
    });
    const rules = await leaveOut(place.root, place.start, `${input.path ?? ''} ${input.glob ?? ''}`);
    const only = input.glob === undefined ? [] : [`--glob=${input.glob}`];
    const args = [...output, ...bounds, ...only, ...rules, '--', input.pattern, `./${place.name ?? ''}`];
    const searched = await search({ dir: place.dir, args, signal, onOutput });
    if (!searched.ok) return failure(searched.reason);
    const { matches, count } = firstOf(found);
    const kept = await confirmed(place.root, matches, maxFile);
    signal.throwIfAborted();
    return render({ kept, left: matches.length - kept.length, count }, searched.complete);
  },
};

const output = ['--line-number', '--no-heading', '--with-filename', '--null', '--max-columns=400', '--max-columns-preview'];
const bounds = [`--max-count=${shownLines}`, `--max-filesize=${maxFile}`, '--regex-size-limit=10M', '--dfa-size-limit=10M'];

/** An open directory to begin in and, where a file was asked for, its name there. */
type Place = { ok: true; root: string; start: string; dir: Dir; name: string | null } | Refusal;

async function placeOf(workspace: string, asked: string): Promise<Place> {
  const located = await locate(workspace, asked);
  if (!located.ok) return located;
  const { root, path } = located;
  const directory = await openDir(root, path, { create: false });
  if (directory.ok) return { ok: true, root, start: path, dir: directory.dir, name: null };
  const opened = await openFile(workspace, asked);
  if (!opened.ok) return opened;
  await using file = opened.file;
  if (opened.stats.size > maxFile)
    return refuse(`${opened.path} has ${opened.stats.size} bytes; grep searches files of at most ${maxFile}`);
  const head = await file.read(Buffer.alloc(8192), 0, 8192, 0);
  if (head.buffer.subarray(0, head.bytesRead).includes(0)) return refuse(`${opened.path} is a binary file; grep searches only text`);
  const { parent, name } = split(opened.path);
  const above = await openDir(root, parent, { create: false });
  return above.ok ? { ok: true, root, start: parent, dir: above.dir, name } : above;
}

/** As many of the matches as fit into a result. */
function firstOf(found: Smallest<Match>): { matches: Match[]; count: number } {
  let bytes = 0;
  const matches = found.take().filter((match) => {
    bytes += Buffer.byteLength(shownLine(match)) + 1;
    return bytes <= shownBytes;
  });
  return { matches, count: found.count };
}

function shownLine({ path, line, text }: Match): string {
  return `${printable(path)}:${line}:${text}`;
}

/** `left`: matches that were not found again where they are said to be. */
function render({ kept, left, count }: { kept: Match[]; left: number; count: number }, complete: boolean): ToolResult {
  const lines = kept.map(shownLine);
  const all = plural(count, 'matching line');
  if (!complete) lines.push(`[stopped after a second: ${lines.length} of ${all} found so far; name a path or glob to search less]`);
  else if (count === 0) return { output: '[no line matches]' };
  else if (count > kept.length + left) lines.push(`[the first ${kept.length} of ${all}; search for something rarer or in less]`);
  if (left > 0)
    lines.push(`[${plural(left, 'line')} left out: changed during the search, or in files with more than one name (hard links)]`);
  return { output: lines.join('\n') };
}
