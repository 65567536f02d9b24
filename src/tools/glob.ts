import { z } from 'zod';
import type { Tool, ToolResult } from '../ports/tool.ts';
import { locate, openDir } from './files/confine.ts';
import { pathSubjects } from './files/path-subjects.ts';
import { isClosed } from './files/paths.ts';
import { failure } from './refusal.ts';
import { Smallest } from './search/first-sorted.ts';
import { planGlob } from './search/plan-glob.ts';
import { present } from './search/recheck.ts';
import { leaveOut, search } from './search/ripgrep.ts';
import { plural, printable } from './text.ts';

const Input = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(1000)
    .describe(
      '`*` any characters but /, `**` any directories, `?` one character, `[a-z]`, `{a,b}`. `**/*.ts` finds them in every directory.',
    ),
  path: z
    .string()
    .max(4096)
    .optional()
    .describe('Directory from which the pattern counts, relative to the workspace. Default: the workspace.'),
});
type Input = z.infer<typeof Input>;

const shownFiles = 1000;

export const glob: Tool<Input> = {
  name: 'glob',
  description:
    `Finds files of the workspace by their names; at most ${shownFiles}, sorted by path. Left out are directories and links, what .gitignore ` +
    'names, and .git and node_modules, unless the pattern begins with their directory.',
  input: Input,
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
  async execute(input, { workspace, signal }) {
    signal.throwIfAborted();
    const plan = planGlob(input.pattern, input.path ?? '.');
    if (!plan.ok) return failure(plan.reason);
    const located = await locate(workspace, plan.start);
    if (!located.ok) return failure(located.reason);
    const opened = await openDir(located.root, located.path, { create: false });
    if (!opened.ok) return plan.named ? none(input.pattern) : failure(opened.reason);
    await using _ = opened.dir.handle;
    const files = new Smallest<string>(shownFiles, (a, b) => (a < b ? -1 : a > b ? 1 : 0));
    const prefix = located.path === '' ? '' : `${located.path}/`;
    const onOutput = splitAtNul((name) => {
      const path = prefix + name.replace(/^\.\//, '');
      if (!isClosed(path)) files.add(path);
    });
    const rules = await leaveOut(located.root, located.path, `${input.path ?? ''}/${input.pattern}`);
    const args = ['--files', '--null', ...rules, '--', './'];
    // A glob of ripgrep's own would overrule .gitignore, so a second one goes through the names that the first one finds.
    const filter = ['--null-data', '--color=never', '--no-line-number', '--regex-size-limit=10M', '--', plan.regex, '-'];
    const searched = await search({ dir: opened.dir, args, filter, signal, onOutput });
    if (!searched.ok) return failure(searched.reason);
    if (files.count === 0 && searched.complete) return none(input.pattern);
    const first = files.take();
    const kept = await present(located.root, first);
    signal.throwIfAborted();
    return render({ paths: first.filter((path) => kept.has(path)), left: first.length - kept.size, count: files.count }, searched.complete);
  },
};

/** Calls `each` with every text that ends with a NUL. */
function splitAtNul(each: (text: string) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    const all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = all.lastIndexOf(0);
    rest = all.subarray(end + 1);
    if (end > 0) for (const text of all.toString('utf8', 0, end).split('\0')) each(text);
  };
}

function none(pattern: string): ToolResult {
  const hint = pattern.includes('/') ? '' : `; \`**/${pattern}\` looks in every directory`;
  return { output: `[no file matches ${printable(pattern)}${hint}]` };
}

/** `left`: of the first ones, those that were no files of the workspace any more. */
function render({ paths, left, count }: { paths: string[]; left: number; count: number }, complete: boolean): ToolResult {
  const lines = paths.map(printable);
  if (!complete) lines.push(`[stopped after a second: some of the files (${paths.length} of ${count} found so far); ask for less]`);
  else if (count > paths.length + left) lines.push(`[the first ${paths.length} of ${plural(count, 'file')}]`);
  if (left > 0) lines.push(`[${plural(left, 'file')} left out: gone or replaced during the search]`);
  return { output: lines.join('\n') };
}
