// The `glob` tool: finds files by name.
import { z } from 'zod';
import type { Tool, ToolResult } from '../ports/tool.ts';
import { isNameHidden } from '../text/closed-paths.ts';
import { locateReadable, openDirectory } from './files/confine.ts';
import { openedSubjects, pathSubjects } from './files/path-subjects.ts';
import { isClosed } from './files/paths.ts';
import { previewRead } from './files/preview-path.ts';
import inputSchemas from './input-schemas.json' with { type: 'json' };
import { createToolFailure } from './refusal.ts';
import { FirstSorted } from './search/first-sorted.ts';
import { planGlob } from './search/plan-glob.ts';
import { filterFiles } from './search/recheck.ts';
import { exclusionArguments, runRipgrep } from './search/ripgrep.ts';
import { describeClosedPaths, escapeControls, formatCount } from './text.ts';

const Input = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(1000)
    .describe(
      '`*` matches any characters except /, `**` any directories, `?` one character; also `[a-z]` and `{a,b}`. `**/*.ts` searches every directory.',
    ),
  path: z
    .string()
    .max(4096)
    .optional()
    .describe('Directory that the pattern is relative to, itself relative to the workspace. Default: the workspace.'),
});
type Input = z.infer<typeof Input>;

const shownFiles = 1000;

export const glob: Tool<Input> = {
  name: 'glob',
  description:
    `Finds files of the workspace by name; at most ${shownFiles}, sorted by path. Directories, links and files that .gitignore excludes are left out, ` +
    'and so are .git and node_modules unless the pattern begins with their directory.',
  get input() {
    return Input;
  },
  inputSchema: inputSchemas.glob,
  readOnly: true,
  portable: true,
  idempotent: true,
  timeoutMs: 10_000,
  maxOutputBytes: 65_536,
  taint: ['untrusted-file'],
  subjects(input, { workspace }) {
    const plan = planGlob(input.pattern, input.path ?? '.');
    return pathSubjects(plan.ok ? plan.start : (input.path ?? '.'), workspace);
  },
  preview: (input, { workspace }) => previewRead(input.path ?? '.', workspace),
  async execute(input, { workspace, readable, signal, confirmTarget, rights }) {
    signal.throwIfAborted();
    const plan = planGlob(input.pattern, input.path ?? '.');
    if (!plan.ok) return createToolFailure(plan.reason);
    const located = await locateReadable({ workspace, readable }, plan.start);
    if (!located.ok) return createToolFailure(located.reason);
    const opened = await openDirectory(located.root, located.path, { create: false });
    if (!opened.ok) return plan.named ? noMatchResult(input.pattern) : createToolFailure(opened.reason);
    await using _ = opened.dir.handle;
    await confirmTarget(openedSubjects(plan.start, workspace, located.prefix + located.path));
    const files = new FirstSorted<string>(shownFiles, (a, b) => (a < b ? -1 : a > b ? 1 : 0));
    const prefix = located.path === '' ? '' : `${located.path}/`;
    let hidden = 0;
    const onOutput = createNulSplitter((name) => {
      const path = prefix + name.replace(/^\.\//, '');
      if (isNameHidden(rights.closedPaths.read, located.prefix + path)) hidden++;
      else if (!isClosed(path)) files.add(path);
    });
    const rules = await exclusionArguments(located.root, located.path, `${input.path ?? ''}/${input.pattern}`);
    const args = ['--files', '--null', ...rules, '--', './'];
    // ripgrep's own globs would override .gitignore, so a second ripgrep filters the names that the first one finds.
    const filter = ['--null-data', '--color=never', '--no-line-number', '--regex-size-limit=10M', '--', plan.regex, '-'];
    const searched = await runRipgrep({ dir: opened.dir, args, filter, signal, onOutput });
    if (!searched.ok) return createToolFailure(searched.reason);
    if (files.count + hidden === 0 && searched.complete) return noMatchResult(input.pattern);
    const first = files.toArray();
    const kept = await filterFiles(located.root, first);
    signal.throwIfAborted();
    const paths = first.filter((path) => kept.has(path)).map((path) => located.prefix + path);
    return renderPaths({ paths, dropped: first.length - kept.size, count: files.count, hidden }, searched.complete);
  },
};

/** Calls `onText` with every text that ends with a NUL. */
function createNulSplitter(onText: (text: string) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    const all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = all.lastIndexOf(0);
    rest = all.subarray(end + 1);
    if (end > 0) for (const text of all.toString('utf8', 0, end).split('\0')) onText(text);
  };
}

function noMatchResult(pattern: string): ToolResult {
  const hint = pattern.includes('/') ? '' : `; use \`**/${pattern}\` to search every directory`;
  return { output: `[no file matches ${escapeControls(pattern)}${hint}]` };
}

/** `dropped`: results that are no longer files of the workspace. */
function renderPaths(
  { paths, dropped, count, hidden }: { paths: string[]; dropped: number; count: number; hidden: number },
  complete: boolean,
): ToolResult {
  const lines = paths.map(escapeControls);
  if (!complete) lines.push(`[stopped after a second: ${paths.length} of ${count} files found so far; use a narrower pattern or path]`);
  else if (count > paths.length + dropped) lines.push(`[the first ${paths.length} of ${formatCount(count, 'file')}]`);
  if (dropped > 0) lines.push(`[${formatCount(dropped, 'file')} left out: removed or replaced during the search]`);
  if (hidden > 0) lines.push(describeClosedPaths(hidden, 'file'));
  return { output: lines.join('\n') };
}
