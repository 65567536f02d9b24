// The `grep` tool: finds lines by a regular expression.
import { z } from 'zod';
import type { Tool, ToolResult } from '../ports/tool.ts';
import { isPathClosed } from '../text/closed-paths.ts';
import { locateReadable, type OpenDirectory, openDirectory, openRealPath, type ReadableFolders, splitParent } from './files/confine.ts';
import { openedSubjects, pathSubjects } from './files/path-subjects.ts';
import { isClosed } from './files/paths.ts';
import { previewRead } from './files/preview-path.ts';
import { isBinary, readStart } from './files/read-file.ts';
import inputSchemas from './input-schemas.json' with { type: 'json' };
import { createToolFailure, createToolRefusal, type Refusal } from './refusal.ts';
import { FirstSorted } from './search/first-sorted.ts';
import { createMatchParser, type Match } from './search/parse-matches.ts';
import { filterMatches } from './search/recheck.ts';
import { exclusionArguments, runRipgrep } from './search/ripgrep.ts';
import { escapeControls, formatCount } from './text.ts';

const Input = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(2000)
    .describe('Regular expression in the syntax of ripgrep (no look-around, no back-references), matched line by line.'),
  path: z.string().max(4096).optional().describe('File or directory to search, relative to the workspace. Default: the workspace.'),
  glob: z
    .string()
    .min(1)
    .max(1000)
    .optional()
    .describe(
      'Searches only files that match, as in .gitignore: `*.ts` in every directory, `/src/**` below the path, `!*.md` everything else.',
    ),
});
type Input = z.infer<typeof Input>;

const shownLines = 1000;
const shownBytes = 48_000;
const maxFile = 32 * 1024 * 1024;

export const grep: Tool<Input> = {
  name: 'grep',
  description:
    'Finds lines in the files of the workspace by a regular expression. Each result is path:line:text; long lines are cut; ' +
    `at most ${shownLines}, sorted by path. Binary files, links, files over 32 MiB and files that .gitignore excludes are left out, and so are .git and ` +
    'node_modules unless path or glob name them.',
  get input() {
    return Input;
  },
  inputSchema: inputSchemas.grep,
  readOnly: true,
  portable: true,
  idempotent: true,
  timeoutMs: 10_000,
  maxOutputBytes: 65_536,
  taint: ['untrusted-file'],
  subjects: (input, { workspace }) => pathSubjects(input.path ?? '.', workspace),
  preview: (input, { workspace }) => previewRead(input.path ?? '.', workspace),
  async execute(input, { workspace, readable, signal, confirmTarget, rights }) {
    signal.throwIfAborted();
    if ([input.pattern, input.glob ?? ''].some((text) => text.includes('\0')))
      return createToolFailure('pattern and glob must not contain NUL characters');
    const start = await openSearchStart({ workspace, readable }, input.path ?? '.');
    if (!start.ok) return createToolFailure(start.reason);
    await using _ = start.dir.handle;
    const opened = [start.path, start.name].filter((part) => part).join('/');
    await confirmTarget(openedSubjects(input.path ?? '.', workspace, start.prefix + opened));
    const found = new FirstSorted<Match>(shownLines, (a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line));
    const prefix = start.path === '' ? '' : `${start.path}/`;
    // The file that the call itself names was judged.
    const isHidden = (path: string) => path !== opened && isPathClosed(rights.closedPaths.read, start.prefix + path);
    const onOutput = createMatchParser((match) => {
      const path = prefix + match.path.replace(/^\.\//, '');
      if (!isClosed(path) && !isHidden(path)) found.add({ ...match, path });
    });
    const rules = await exclusionArguments(start.root, start.path, `${input.path ?? ''} ${input.glob ?? ''}`);
    const only = input.glob === undefined ? [] : [`--glob=${input.glob}`];
    const args = [...output, ...bounds, ...only, ...rules, '--', input.pattern, `./${start.name ?? ''}`];
    const searched = await runRipgrep({ dir: start.dir, args, signal, onOutput });
    if (!searched.ok) return createToolFailure(searched.reason);
    const matches = takeFitting(found.toArray());
    const kept = (await filterMatches(start.root, matches, maxFile)).map((match) => ({ ...match, path: start.prefix + match.path }));
    signal.throwIfAborted();
    const result = renderMatches({ kept, dropped: matches.length - kept.length, count: found.count }, searched.complete);
    // Added whether or not a closed file matches: the difference would reveal its content.
    return rights.closedPaths.read.length === 0 ? result : { output: `${result.output}\n[files that rules close are left out]` };
  },
};

const output = ['--line-number', '--no-heading', '--with-filename', '--null', '--max-columns=400', '--max-columns-preview'];
const bounds = [`--max-count=${shownLines}`, `--max-filesize=${maxFile}`, '--regex-size-limit=10M', '--dfa-size-limit=10M'];

/** The open directory to start in, its path and, if a file is to be searched, the name of the file. */
type SearchStart = { ok: true; root: string; path: string; prefix: string; dir: OpenDirectory; name: string | null } | Refusal;

async function openSearchStart(folders: ReadableFolders, asked: string): Promise<SearchStart> {
  const located = await locateReadable(folders, asked);
  if (!located.ok) return located;
  const { root, path, prefix } = located;
  const directory = await openDirectory(root, path, { create: false });
  if (directory.ok) return { ok: true, root, path, prefix, dir: directory.dir, name: null };
  const opened = await openRealPath(root, path);
  if (!opened.ok) return opened;
  await using file = opened.file;
  if (opened.stats.size > maxFile)
    return createToolRefusal(`${opened.path} has ${opened.stats.size} bytes; grep searches files of at most ${maxFile} bytes`);
  if (isBinary(await readStart(file, 8192))) return createToolRefusal(`${opened.path} is a binary file; grep searches only text files`);
  const { parent, name } = splitParent(opened.path);
  const above = await openDirectory(root, parent, { create: false });
  return above.ok ? { ok: true, root, path: parent, prefix, dir: above.dir, name } : above;
}

/** As many of the matches as fit into a result. */
function takeFitting(matches: Match[]): Match[] {
  let bytes = 0;
  return matches.filter((match) => {
    bytes += Buffer.byteLength(formatMatch(match)) + 1;
    return bytes <= shownBytes;
  });
}

function formatMatch({ path, line, text }: Match): string {
  return `${escapeControls(path)}:${line}:${text}`;
}

/** `dropped`: matches that were not found again when they were checked. */
function renderMatches({ kept, dropped, count }: { kept: Match[]; dropped: number; count: number }, complete: boolean): ToolResult {
  const lines = kept.map(formatMatch);
  const all = formatCount(count, 'matching line');
  if (!complete) lines.push(`[stopped after a second: ${lines.length} of ${all} found so far; name a path or glob to search less]`);
  else if (count === 0) return { output: '[no line matches]' };
  else if (count > kept.length + dropped)
    lines.push(`[the first ${kept.length} of ${all}; use a more specific pattern, or name a path or glob]`);
  if (dropped > 0)
    lines.push(`[${formatCount(dropped, 'line')} left out: changed during the search, or in a file with several hard links]`);
  return { output: lines.join('\n') };
}
