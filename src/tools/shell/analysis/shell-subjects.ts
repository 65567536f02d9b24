/**
 * What rules match against for a shell command: every simple command in it, wherever it stands, and every file that it writes.
 * docs/shell-rules.md tells it to those who write rules.
 */
import type { Subject } from '../../../ports/subject.ts';
import { enter, isDevice, type Places, placesOf, strays, targets } from './command-paths.ts';
import { refuse } from './deny-command.ts';
import { asAlias, type Judged, judge } from './judge-command.ts';
import type { Redirection } from './read-command.ts';
import { readScript } from './read-script.ts';
import { shownWords } from './read-word.ts';

const maxLength = 20_000;
const maxLines = 100;
const maxPipes = 2_000;
const maxSubjects = 2_000;
/** Everything that is not seen, or looks like a blank and is none. Bash takes these for parts of words. */
const unseen = /[^\P{C}\t\n]|[^\P{Z} ]|[\u115f\u1160\u3164\uffa0\u2800]|[\u180b-\u180f]|[\ufe00-\ufe0e]|\u034f/u;

/**
 * Throws RetinueError `denied` for a command that no rule may allow. The parser must be loaded. Where there is no bash, another shell reads
 * the same text by other rules, and every command is unsafe.
 */
export function shellSubjects(command: string, workspace: string, hasBash = true): Subject[] {
  const read = subjectsOf(command, workspace, new Set([command]));
  const found = hasBash ? read : read.map(withoutBash);
  if (found.length > maxSubjects) refuse('has too many parts', 'write it as several simpler commands');
  const seen = new Set<string>();
  return found.filter((subject) => {
    const key = JSON.stringify(subject);
    return !seen.has(key) && seen.add(key);
  });
}

/** `lines`: what was read so far, so that commands inside commands are read once each. */
function subjectsOf(command: string, workspace: string, lines: Set<string>): Subject[] {
  checkText(command);
  if (lines.size > maxLines) refuse('has too many command lines inside it', 'write it more simply');
  const script = readScript(command);
  const places = placesOf(workspace);
  const moves = script.commands.filter(({ words }) => /^(cd|pushd|popd)$/.test(words[0]?.text ?? ''));
  for (const { words } of moves) enter(words[1]?.text ?? '.', places);
  const judged: Judged[] = script.commands.map((each) => judge(each, { workspace, places, moves: moves.length > 0 }));
  const subjects = [
    ...judged.flatMap((each) => each.subjects),
    ...script.hazards.map(({ text, why }): Subject => ({ text, unsafe: why })),
    ...script.redirections.flatMap((each) => redirected(each, workspace, places)),
  ];
  for (const code of [...judged.flatMap((each) => each.code), ...script.code]) {
    if (lines.has(code)) continue;
    lines.add(code);
    // What another shell gets can do no more here than deny: the command that hands it over is unsafe already.
    for (const inner of subjectsOf(code, workspace, lines)) subjects.push(asAlias(inner));
  }
  if (subjects.length === 0)
    subjects.push({ text: command.trim().replace(/\s+/g, ' '), unsafe: 'it starts no program that a rule could name' });
  return subjects;
}

function withoutBash(subject: Subject): Subject {
  return typeof subject === 'string' ? { text: subject, unsafe: 'there is no bash, and another shell may read it differently' } : subject;
}

function checkText(command: string): void {
  if (command.length > maxLength) refuse(`is longer than ${maxLength} characters`, 'put it into a script');
  // The grammar takes very long over these, and cannot be stopped in time.
  if (command.split('|').length > maxPipes) refuse(`has more than ${maxPipes} pipes`, 'put it into a script');
  const [odd] = unseen.exec(command) ?? [];
  if (odd !== undefined) {
    const code = `U+${(odd.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}`;
    refuse(`has a character that is not seen (${code})`, 'use plain blanks and line ends');
  }
  if (!command.isWellFormed()) refuse('is no well-formed text', 'send it again');
}

function redirected({ writes, operator, target }: Redirection, workspace: string, places: Places): Subject[] {
  const path = target.text;
  const text = `${operator} ${shownWords([target])}`;
  if (/&$/.test(operator) && /^\d+-?$|^-$/.test(path)) return [];
  if (target.literal && isDevice(path) && (writes ? /^\/dev\/(null|stdout|stderr|fd\/\d+)$/.test(path) : true)) return [];
  if (writes) {
    const written = target.loose === null ? targets(path, workspace, places) : [path];
    return [{ text, unsafe: 'it writes a file' }, ...written.map((each): Subject => ({ text: each, alias: true, tool: 'write' }))];
  }
  if (operator.endsWith('-')) return [];
  if (target.loose !== null) return [{ text, unsafe: target.loose }];
  const stray = strays(path, places);
  return stray === null ? [] : [{ text, unsafe: stray }];
}
