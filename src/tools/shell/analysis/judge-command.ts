/**
 * One simple command as subjects: its words, why no ordinary pattern may allow it, and the other names under which a deny must find it.
 *
 *  1. What is not known to be literal makes a command unsafe, or is proven harmless (`word.ts`).
 *  2. Hostile flags come from tables; a flag counts wherever it stands, also after `--`, abbreviated or in a cluster.
 *  3. An argument that names a place outside the workspace makes every command unsafe, unless its program takes text there.
 */
import { basename } from 'node:path';
import type { Subject } from '../../../ports/subject.ts';
import { codeOf, otherNames } from './command-aliases.ts';
import { type Places, strays, targets } from './command-paths.ts';
import { refuse } from './deny-command.ts';
import { expandBraces } from './expand-braces.ts';
import { isHostile, textsOf } from './flags.ts';
import { verbOf } from './programs/index.ts';
import type { Verb } from './programs/program.ts';
import type { Simple } from './read-command.ts';
import { shownWords, type Word } from './read-word.ts';
import { writingHazard, writtenBy } from './written-files.ts';

const maxWrapped = 100;
const program = /^[\p{L}\p{N}_.+/[\]-]+$/u;

export interface Judged {
  subjects: Subject[];
  /** Command lines inside this one: for another shell, or for this one later. */
  code: string[];
}

export interface Circumstances {
  workspace: string;
  places: Places;
  /** Whether the command line changes the folder: git then obeys what lies there. */
  moves: boolean;
}

export function judge({ words, sets }: Simple, circumstances: Circumstances): Judged {
  const [name] = words as [Word];
  // A name that bash makes of a pattern or of braces is one that no rule can deny.
  if (isMade(name)) refuse(`has a pattern or braces in the name of a command, \`${name.text}\``, 'write the name out');
  const base = basename(name.text);
  const known = verbOf(base) ?? {};
  // That words are text holds for what bash does itself, not for some program of that name.
  const verb: Verb = name.text === base ? known : { ...known, text: false };
  const text = shownWords(words);
  const why = sets.length > 0 ? `\`${sets[0]}\` changes how it runs` : hazardOf(words, { verb, base, circumstances });
  const aliases = new Set(otherNames(words));
  const written = writtenBy(words, verb);
  const code: string[] = codeOf(words, verb);
  const from = verb.wraps && why !== null ? 1 : innerStart(words, verb);
  if (from > 0) {
    if (words.length > maxWrapped) refuse(`has more than ${maxWrapped} words behind \`${base}\``, 'write it more simply');
    for (let at = from; at < words.length; at++) {
      const rest = words.slice(at);
      aliases.add(shownWords(rest));
      for (const each of otherNames(rest)) aliases.add(each);
      const inner = verbOf(basename((rest[0] as Word).text)) ?? {};
      code.push(...codeOf(rest, inner));
      written.push(...writtenBy(rest, inner));
    }
  }
  aliases.delete(text);
  aliases.delete('');
  const subjects: Subject[] = [why === null ? text : { text: sets.length > 0 ? `${sets.join(' ')} ${text}` : text, unsafe: why }];
  if (sets.length > 0) aliases.add(text);
  for (const alias of aliases) subjects.push({ text: alias, alias: true });
  const files = written.flatMap((path) => targets(path, circumstances.workspace, circumstances.places));
  for (const file of files) subjects.push({ text: file, alias: true, tool: 'write' });
  const made = expandBraces(words);
  if (made !== null && made.length > 0) {
    const inner = judge({ words: made, sets: [] }, circumstances);
    subjects.push(...inner.subjects.map(asAlias));
    code.push(...inner.code);
  }
  return { subjects, code };
}

/** The same for rules that deny or ask alone. */
export function asAlias(subject: Subject): Subject {
  if (typeof subject === 'string') return { text: subject, alias: true };
  const { text, tool } = subject;
  return { text, alias: true, ...(tool !== undefined && { tool }) };
}

function isMade({ mask, text }: Word): boolean {
  return text !== '[' && text !== '[[' && (/[*?[]/.test(mask) || (mask.includes('{') && /[}]/.test(mask)));
}

/** Where the command begins that a runner such as `npm exec` is given, or 0. */
function innerStart(words: Word[], { runs }: Verb): number {
  if (runs === undefined) return 0;
  return runs.includes('*') ? 1 : words.findIndex(({ text }, index) => index > 0 && runs.includes(text)) + 1;
}

interface Case {
  verb: Verb;
  base: string;
  circumstances: Circumstances;
}

/** Why no ordinary pattern may allow these words, or null. */
function hazardOf(words: Word[], { verb, base, circumstances }: Case): string | null {
  const [name, ...rest] = words as [Word, ...Word[]];
  if (!name.literal || name.loose !== null) return 'nobody knows which program it starts';
  if (!program.test(name.text) && base !== ':') return 'its name is no plain name of a program';
  if (/(^|\/)\.\.(\/|$)/.test(name.text)) return 'the program lies outside the workspace';
  if (verb.always !== undefined) return verb.always;
  const listed = verb.text
    ? rest.find(({ mask, text }) => /[*?[]/.test(mask) && (/[$`]/.test(text) || strays(text, circumstances.places) !== null))
    : undefined;
  if (listed && base !== '[[') return `nobody knows what \`${listed.text}\` finds`;
  const loose = verb.text ? undefined : rest.find((word) => word.loose !== null);
  if (loose) return loose.loose;
  const odd = rest.find((word) => isHostile(word, verb));
  if (odd) return `\`${odd.text}\` makes it start programs, write files or obey other files`;
  const first = rest.find(({ text }) => !text.startsWith('-'));
  if (first && verb.first?.includes(first.text)) return `\`${base} ${first.text}\` does more than its words show`;
  if (verb.first && rest[0]?.text.startsWith('-') && rest.some(({ text }) => verb.first?.includes(text)))
    return `\`${base}\` does more than its words show`;
  const checked = verb.check?.(words, circumstances.places) ?? null;
  if (checked !== null) return checked;
  if (base === 'git' && circumstances.moves) return 'in another folder git obeys what lies there';
  if (verb.text) return null;
  const texts = textsOf(rest, verb);
  for (const word of rest) {
    const stray = texts.has(word) ? null : strays(word.text, circumstances.places);
    if (stray !== null) return stray;
  }
  return writingHazard(words, verb, circumstances);
}
