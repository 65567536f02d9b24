// Changes of files that the runtime recorded, from facts.
import type { Fact } from '../contract/fact.ts';
import type { FileChange } from '../contract/http.ts';
import { unquoteGitPath } from '../text/git-path.ts';

type RecordedArtifact = Extract<Fact, { type: 'artifact.recorded' }>;
type AskedCall = Extract<Fact, { type: 'tool.asked' }>;

/** In the order of the facts. A change without a recorded diff has one line in brackets instead: a binary file, or one that a shell command changed. */
export function factsToChanges(facts: Fact[]): FileChange[] {
  const recorded = facts.filter((fact): fact is RecordedArtifact => fact.type === 'artifact.recorded');
  const compared = new Set(recorded.filter(isDiff).map((fact) => changeKey(fact, fact.data.artifact.title ?? '')));
  const commands = new Set(facts.filter(isCommand).map(callKey));
  return recorded.flatMap((fact) => {
    if (isDiff(fact)) return diffToChange(fact);
    const isCompared = compared.has(changeKey(fact, fact.data.artifact.value));
    return isPath(fact) && !isCompared ? pathToChange(fact, commands.has(callKey(fact))) : [];
  });
}

/** The changes of a patch, one for each file. */
export function patchToChanges(runId: string, patch: string): FileChange[] {
  const parts = patch.split(/^(?=diff --git )/m).filter((part) => part.startsWith('diff --git '));
  return parts.map((diff) => ({ runId, path: pathOfDiff(diff), ...countChangedLines(diff), diff }));
}

function pathOfDiff(diff: string): string {
  const [first = ''] = diff.split('\n', 1);
  const names = first.slice('diff --git '.length);
  // Without renames both names are the same.
  const half = names.slice((names.length + 1) / 2);
  return unquoteGitPath(half).replace(/^b\//, '');
}

/** Shell commands that were executed; the contents that they changed are not recorded. */
export function countCommands(facts: Fact[]): number {
  return facts.filter(isCommand).length;
}

/** Whether only the beginning of the diff was recorded, so that its counts are too low. */
export function isCutDiff({ diff }: FileChange): boolean {
  return /\n\[diff cut: .*\]\n$/.test(diff);
}

/** What a change is that has no lines: `binary`, `mode 100644 → 100755` or `no diff`; null for one with lines. */
export function describeWithoutLines({ diff, added, removed }: FileChange): string | null {
  if (added + removed > 0) return null;
  if (/^(GIT binary patch|Binary files .* differ)$/m.test(diff)) return 'binary';
  const mode = /^old mode (\d+)\nnew mode (\d+)$/m.exec(diff);
  if (mode && !/^@@/m.test(diff)) return `mode ${mode[1]} → ${mode[2]}`;
  return diff.startsWith('[') ? 'no diff' : null;
}

function isDiff({ data: { artifact } }: RecordedArtifact): boolean {
  return artifact.kind === 'diff';
}

function isPath({ data: { artifact } }: RecordedArtifact): boolean {
  return artifact.kind === 'path' && ['created', 'changed', 'deleted'].includes(artifact.title ?? '');
}

function isCommand(fact: Fact): fact is AskedCall {
  return fact.type === 'tool.asked' && fact.data.tool === 'bash' && fact.data.rejected === null;
}

function callKey({ runId, data: { turn, index } }: RecordedArtifact | AskedCall): string {
  return `${runId} ${turn} ${index}`;
}

/** The path of a file and its diff are two artifacts of one call. */
function changeKey(fact: RecordedArtifact, path: string): string {
  return `${callKey(fact)} ${path}`;
}

function diffToChange({ runId, data: { artifact } }: RecordedArtifact): FileChange {
  const { title = '', value } = artifact;
  return { runId, path: title, ...countChangedLines(value), diff: value };
}

/** The names of the file come before the first hunk; a changed line may begin like them. */
export function countChangedLines(diff: string): { added: number; removed: number } {
  const lines = diff.split('\n');
  const start = lines.findIndex((line) => line.startsWith('@@'));
  // The patch of a binary file has no lines of text.
  if (start < 0 && lines.includes('GIT binary patch')) return { added: 0, removed: 0 };
  const changed = lines.slice(Math.max(0, start));
  const count = (sign: string) => changed.filter((line) => line.startsWith(sign)).length;
  return { added: count('+'), removed: count('-') };
}

function pathToChange({ runId, data: { artifact } }: RecordedArtifact, isByCommand: boolean): FileChange {
  const { title, value: path, bytes } = artifact;
  const size = title === 'deleted' ? '' : `, ${bytes} bytes`;
  const why = isByCommand
    ? 'by a shell command; no diff was recorded'
    : 'without a diff: it is binary, too large, or has the same content as before';
  return { runId, path, added: 0, removed: 0, diff: `[${path} ${title}${size}, ${why}]\n` };
}
