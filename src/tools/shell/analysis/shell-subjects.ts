// What rules match against for a shell command: every simple command in it, wherever it stands, and every file it writes. docs/shell-rules.md
// explains it to people who write rules. This folder only reads commands; `../execution` runs them.
//
// Reading order, which is also the order of the steps:
//   parser.ts         bash source to a tree (tree-sitter)
//   check-tree.ts     denies what bash may read differently from the grammar; with check-heredoc.ts and check-arithmetic.ts
//   read-script.ts    tree to a flat list of commands, redirections and hazards; with read-command.ts, read-test.ts and read-word.ts
//   judge-command.ts  one command to subjects; with flags.ts, command-paths.ts, written-files.ts, command-aliases.ts and inner-code.ts
//   programs/         tables of what is known about single programs
import type { Subject } from '../../../ports/subject.ts';
import { createPathScope, findOutsidePath, findTargets, isDevice, type PathScope } from './command-paths.ts';
import { denyCommand, writeSimpler } from './deny-command.ts';
import { judgeCommand, toAlias } from './judge-command.ts';
import { findNamedFiles } from './named-files.ts';
import { toPossibleWrite } from './possible-writes.ts';
import type { Redirection } from './read-command.ts';
import { readScript } from './read-script.ts';
import { formatWords } from './read-word.ts';

const maxLength = 20_000;
const maxLines = 100;
const maxPipes = 2_000;
const maxSubjects = 2_000;
const maxNamedFiles = 20_000;
/** Invisible characters, and characters that look like a blank. Bash treats them as parts of words. */
const invisible = /[^\P{C}\t\n]|[^\P{Z} ]|[\u115f\u1160\u3164\uffa0\u2800]|[\u180b-\u180f]|[\ufe00-\ufe0e]|\u034f/u;

export interface ShellOptions {
  /** Without bash every command is unsafe, because another shell may read the same text differently. */
  hasBash?: boolean;
  /** Whether the command will run in a sandbox. If not, rules about paths are compared with the files that its words name. */
  isConfined?: boolean;
}

/** Throws RetinueError `denied` for a command that no rule may allow. The parser must be loaded. */
export function shellSubjects(command: string, workspace: string, { hasBash = true, isConfined = true }: ShellOptions = {}): Subject[] {
  const read = readSubjects(command, { workspace, isConfined, lines: new Set([command]) });
  const found = hasBash ? read : read.map(markUnsafeWithoutBash);
  const isNamedFile = (subject: Subject) => typeof subject === 'object' && subject.tool === 'read';
  if (found.filter((subject) => !isNamedFile(subject)).length > maxSubjects || found.length > maxNamedFiles)
    denyCommand('has too many parts', writeSimpler);
  const seen = new Set<string>();
  return found.filter((subject) => {
    const key = JSON.stringify(subject);
    return !seen.has(key) && seen.add(key);
  });
}

interface ReadingState {
  workspace: string;
  isConfined: boolean;
  /** Command lines read so far, so that each inner command line is read once. */
  lines: Set<string>;
}

function readSubjects(command: string, state: ReadingState): Subject[] {
  const { workspace, isConfined, lines } = state;
  checkText(command);
  if (lines.size > maxLines) denyCommand('has too many command lines inside it', 'write it more simply');
  const script = readScript(command);
  const moves = script.commands.filter(({ words }) => /^(cd|pushd|popd)$/.test(words[0]?.text ?? ''));
  const scope = createPathScope(workspace, {
    directories: moves.map(({ words }) => words[1]?.text ?? '.'),
    isSingleCommand: script.commands.length === 1 && !/\b(for|select|while|until)\b/.test(command),
    isConfined,
  });
  const judged = script.commands.map((each) => judgeCommand(each, scope));
  const subjects = [
    ...judged.flatMap((each) => each.subjects),
    ...script.hazards.map(({ text, why }): Subject => ({ text, unsafe: why })),
    ...script.redirections.flatMap((each) => redirectionToSubjects(each, scope)),
  ];
  for (const code of [...judged.flatMap((each) => each.code), ...script.code]) {
    if (lines.has(code)) continue;
    lines.add(code);
    // Inner commands can only deny: the command that passes them to a shell is unsafe already.
    for (const inner of readSubjects(code, state)) subjects.push(toAlias(inner));
  }
  if (subjects.length === 0)
    subjects.push({ text: command.trim().replace(/\s+/g, ' '), unsafe: 'it starts no program that a rule could name' });
  return subjects;
}

function markUnsafeWithoutBash(subject: Subject): Subject {
  return typeof subject === 'string'
    ? { text: subject, unsafe: 'bash is not installed, and another shell may read it differently' }
    : subject;
}

function checkText(command: string): void {
  if (command.length > maxLength) denyCommand(`is longer than ${maxLength} characters`, 'put it into a script');
  // The grammar takes very long for many pipes and cannot be stopped in time.
  if (command.split('|').length > maxPipes) denyCommand(`has more than ${maxPipes} pipes`, 'put it into a script');
  const [found] = invisible.exec(command) ?? [];
  if (found !== undefined) {
    const code = `U+${(found.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}`;
    denyCommand(`has an invisible character (${code})`, 'use plain blanks and line breaks');
  }
  if (!command.isWellFormed()) denyCommand('is not well-formed Unicode', 'send it again');
}

function redirectionToSubjects({ writes, operator, target }: Redirection, scope: PathScope): Subject[] {
  const path = target.text;
  const text = `${operator} ${formatWords([target])}`;
  if (/&$/.test(operator) && /^\d+-?$|^-$/.test(path)) return [];
  if (target.literal && isDevice(path) && (writes ? /^\/dev\/(null|stdout|stderr|fd\/\d+)$/.test(path) : true)) return [];
  if (writes) {
    const written = target.unknownReason === null ? findTargets(path, scope) : [path];
    const named = findNamedFiles([target], new Set(), scope).map(toPossibleWrite);
    return [
      { text, unsafe: 'it writes a file' },
      ...written.map((each): Subject => ({ text: each, alias: true, tool: 'write' })),
      ...named,
    ];
  }
  if (operator.endsWith('-')) return [];
  const named = findNamedFiles([target], new Set(), scope);
  if (target.unknownReason !== null) return [{ text, unsafe: target.unknownReason }, ...named];
  const outside = findOutsidePath(path, scope);
  return outside === null ? named : [{ text, unsafe: outside }, ...named];
}
