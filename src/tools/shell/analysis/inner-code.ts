// Command lines inside the words of a command: `sh -c '…'`, `eval …`, `git bisect run …`.
import type { Program } from './programs/program.ts';
import type { ShellWord } from './read-word.ts';

export function findInnerCode(words: ShellWord[], { codeAt, codeFlags = [], evaluatesIndices = false }: Program): string[] {
  const rest = words.slice(1).map(({ text }) => text);
  const indices = evaluatesIndices ? words.slice(1).flatMap(({ text, bare }) => (text === bare ? findSubstitutions(text) : [])) : [];
  const end = rest.indexOf('--');
  const own = end === -1 ? rest : rest.slice(0, end);
  const flagged = own.flatMap((text, index) => findCodeAtFlag(text, rest.slice(index + 1), codeFlags));
  return [...findCodeArguments(rest, codeAt), ...indices, ...flagged];
}

/** The commands in `$(…)` and backticks of a text that bash evaluates once more. */
export function findSubstitutions(text: string): string[] {
  return [...text.matchAll(/\$\(([^()]*)\)|`([^`]*)`/g)].map(([, first, second]) => first ?? second ?? '').filter((code) => code !== '');
}

/** The command line after one of `flags`, or attached to it. */
function findCodeAtFlag(text: string, after: string[], flags: string[]): string[] {
  const flag = flags.find((each) => (each.startsWith('--') ? text.startsWith(`${each}=`) : /^-/.test(each) && text.startsWith(each)));
  if (flag !== undefined && text !== flag) return [text.slice(flag.length).replace(/^=/, '')];
  if (!flags.includes(text) || after.length === 0) return [];
  const first = after.findIndex((each) => !each.startsWith('-'));
  const lines = [after[0] as string, after.join(' '), first === -1 ? '' : after.slice(first).join(' ')];
  return [...new Set(lines)].filter((line) => line !== '');
}

function findCodeArguments(rest: string[], codeAt: Program['codeAt']): string[] {
  if (codeAt === 'words') return [rest.join(' '), ...rest.filter((text) => /[\s;&|`$(]/.test(text))];
  if (codeAt === 'split') return rest.flatMap((text, index) => findSplitString(text, rest[index + 1]));
  if (codeAt !== 'flag') return [];
  // More flags may follow between `-c` and the command line, and one of them, `-o`, takes a value.
  const at = rest.findIndex((text) => /^-[a-zA-Z]*c|^--command$/.test(text));
  const after = at === -1 ? [] : rest.slice(at + 1);
  const plain = after.filter((text) => !/^[-+]/.test(text));
  const takesOption = [rest[at] ?? '', ...after].some((text) => /^[-+][a-zA-Z]*o$/i.test(text));
  return plain.slice(0, takesOption ? 2 : 1);
}

/** The value of `env -S`. */
function findSplitString(text: string, next: string | undefined): string[] {
  const inline = /^(?:-[a-zA-Z]*S|--split-string=)(.+)$/.exec(text)?.[1];
  if (inline !== undefined) return [inline];
  return /^(-[a-zA-Z]*S|--split-string)$/.test(text) && next !== undefined ? [next] : [];
}
