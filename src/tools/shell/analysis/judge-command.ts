// Turns one simple command into subjects: its words, why no ordinary rule may allow it, and the aliases under which a deny must find it.
//
// 1. A command with a word that is not literal is unsafe, unless the word is proven harmless (`read-word.ts`).
// 2. Unsafe flags come from tables. A flag counts wherever it stands: after `--`, abbreviated or in a cluster.
// 3. An argument that names a path outside the workspace makes every command unsafe, unless the program treats it as text.
import { basename } from 'node:path';
import type { Subject } from '../../../ports/subject.ts';
import { findAliases } from './command-aliases.ts';
import { findOutsidePath, findTargets, type PathScope } from './command-paths.ts';
import { denyCommand } from './deny-command.ts';
import { expandBraces } from './expand-braces.ts';
import { findTextWords, isUnsafeFlag } from './flags.ts';
import { findInnerCode } from './inner-code.ts';
import { findMatchedFiles, findNamedFiles } from './named-files.ts';
import { findPossibleWrites } from './possible-writes.ts';
import { findProgram } from './programs/index.ts';
import { findOperands, type Program } from './programs/program.ts';
import type { SimpleCommand } from './read-command.ts';
import { formatWords, type ShellWord } from './read-word.ts';
import { findKnownStarts } from './unknown-parts.ts';
import { findWriteHazard, findWrittenFiles } from './written-files.ts';

const maxWrapped = 100;
const plainName = /^[\p{L}\p{N}_.+/[\]-]+$/u;

export interface JudgedCommand {
  subjects: Subject[];
  /** Command lines inside this one, for another shell or for this one later. */
  code: string[];
}

export function judgeCommand({ words, assignments }: SimpleCommand, scope: PathScope): JudgedCommand {
  const [name] = words as [ShellWord];
  // No rule can deny a name that bash creates from a pattern or from braces.
  if (hasPatternOrBraces(name)) denyCommand(`has a pattern or braces in the name of a command, \`${name.text}\``, 'write the name out');
  const base = basename(name.text);
  const known = findProgram(base) ?? {};
  // Only the builtin treats its words as text, not some program of the same name.
  const program: Program = name.text === base ? known : { ...known, takesOnlyText: false };
  const text = formatWords(words);
  const hazard = assignments.length > 0 ? `\`${assignments[0]}\` changes how it runs` : findHazard(words, { program, base, scope });
  const aliases = new Set(findAliases(words));
  const written = findWrittenFiles(words, program);
  const code = findInnerCode(words, program);
  const from = program.runsItsArguments && hazard !== null ? 1 : findInnerCommand(words, program);
  if (from > 0) {
    if (words.length > maxWrapped) denyCommand(`has more than ${maxWrapped} words after \`${base}\``, 'write it more simply');
    for (let at = from; at < words.length; at++) {
      const rest = words.slice(at);
      aliases.add(formatWords(rest));
      for (const each of findAliases(rest)) aliases.add(each);
      const inner = findProgram(basename((rest[0] as ShellWord).text)) ?? {};
      code.push(...findInnerCode(rest, inner));
      written.push(...findWrittenFiles(rest, inner));
    }
  }
  const texts = program.takesOnlyText ? new Set(words) : findTextWords(words.slice(1), program);
  const named = findNamedFiles(name.text.includes('/') ? words : words.slice(1), texts, scope);
  aliases.delete(text);
  aliases.delete('');
  const shown = assignments.length > 0 ? `${assignments.join(' ')} ${text}` : text;
  const [first, ...others] = findKnownStarts(words, program);
  const subjects: Subject[] = [hazard === null ? text : { text: shown, unsafe: hazard, ...(first !== undefined && { known: first }) }];
  const starts = hazard === null && first !== undefined ? [first, ...others] : others;
  for (const known of starts) subjects.push({ text, alias: true, known });
  if (assignments.length > 0) aliases.add(text);
  for (const alias of aliases) subjects.push({ text: alias, alias: true });
  const removes = isRemoving(words, base);
  const matched = scope.isConfined ? [] : findMatchedFiles(findOperands(words), scope);
  for (const file of written.length === 0 ? [] : [...written.flatMap((path) => findTargets(path, scope)), ...matched])
    subjects.push({ text: file, alias: true, tool: 'write', ...(removes && { tree: true }) });
  subjects.push(...named, ...findPossibleWrites(words, { program, base, texts, scope }));
  const expanded = expandBraces(words);
  if (expanded !== null && expanded.length > 0) {
    const inner = judgeCommand({ words: expanded, assignments: [] }, scope);
    subjects.push(...inner.subjects.map(toAlias));
    code.push(...inner.code);
  }
  return { subjects, code };
}

/** Whether the files that the command writes are moved or removed with everything in them. */
function isRemoving([, first]: ShellWord[], base: string): boolean {
  return ['rm', 'rmdir', 'mv', 'ln', 'shred', 'unlink'].includes(base) || (base === 'git' && /^(rm|mv|clean)$/.test(first?.text ?? ''));
}

/** The same subject, only for rules that deny or ask. */
export function toAlias(subject: Subject): Subject {
  if (typeof subject === 'string') return { text: subject, alias: true };
  const { unsafe: _, ...rest } = subject;
  return { ...rest, alias: true };
}

function hasPatternOrBraces({ mask, text }: ShellWord): boolean {
  return text !== '[' && text !== '[[' && (/[*?[]/.test(mask) || (mask.includes('{') && /[}]/.test(mask)));
}

/** Where the command begins that a runner such as `npm exec` is given; 0 if there is none. */
function findInnerCommand(words: ShellWord[], { runnerWords }: Program): number {
  if (runnerWords === undefined) return 0;
  return runnerWords.includes('*') ? 1 : words.findIndex(({ text }, index) => index > 0 && runnerWords.includes(text)) + 1;
}

interface HazardInput {
  program: Program;
  /** The name of the program without directories. */
  base: string;
  scope: PathScope;
}

/** Returns why no ordinary rule may allow these words, or null. */
function findHazard(words: ShellWord[], { program, base, scope }: HazardInput): string | null {
  const [name, ...rest] = words as [ShellWord, ...ShellWord[]];
  if (!name.literal || name.unknownReason !== null) return 'the program it starts is known only when it runs';
  if (!plainName.test(name.text) && base !== ':') return 'its name is not a plain program name';
  if (/(^|\/)\.\.(\/|$)/.test(name.text)) return 'the program is outside the workspace';
  if (program.alwaysUnsafe !== undefined) return program.alwaysUnsafe;
  const isUnclearPattern = ({ mask, text }: ShellWord) =>
    /[*?[]/.test(mask) && (/[$`]/.test(text) || findOutsidePath(text, scope) !== null);
  const pattern = program.takesOnlyText ? rest.find(isUnclearPattern) : undefined;
  if (pattern && base !== '[[') return `which files \`${pattern.text}\` matches is unknown`;
  const unknown = program.takesOnlyText ? undefined : rest.find((word) => word.unknownReason !== null);
  if (unknown) return unknown.unknownReason;
  const flag = rest.find((word) => isUnsafeFlag(word, program));
  if (flag) return `\`${flag.text}\` makes it start programs, write files or read instructions from other files`;
  const first = rest.find(({ text }) => !text.startsWith('-'));
  const { unsafeSubcommands } = program;
  if (first && unsafeSubcommands?.includes(first.text)) return `\`${base} ${first.text}\` does more than its words show`;
  if (unsafeSubcommands && rest[0]?.text.startsWith('-') && rest.some(({ text }) => unsafeSubcommands.includes(text)))
    return `\`${base}\` does more than its words show`;
  const problem = program.findProblem?.(words, scope) ?? null;
  if (problem !== null) return problem;
  if (base === 'git' && scope.changesDirectory) return 'in another directory git uses the settings it finds there';
  if (program.takesOnlyText) return null;
  const texts = findTextWords(rest, program);
  for (const word of rest) {
    const outside = texts.has(word) ? null : findOutsidePath(word.text, scope);
    if (outside !== null) return outside;
  }
  return findWriteHazard(words, program, scope);
}
