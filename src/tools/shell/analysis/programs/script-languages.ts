// Programs with a language of their own in their arguments: tar, sed, awk. Only scripts known to be harmless pass.
import type { ShellWord } from '../read-word.ts';
import { isPlainSedScript } from './sed-script.ts';

/** Only listing passes: packing and unpacking write files, many flags start programs, and so does an archive on another machine (`host:file`). */
export function checkTar(words: ShellWord[]): string | null {
  const [, first] = words;
  const flags = words.filter(({ text }, index) => index === 1 || text.startsWith('-'));
  const lists = /^-?[vzjJa]*t/.test(first?.text ?? '') || flags.some(({ text }) => text === '--list');
  const isPlain = flags.every(({ text }) => /^(-?[tvfzjJa]+|--list|--verbose|--gzip|--xz|--bzip2|--file=[^:]*)$/.test(text));
  return lists && isPlain && !words.some(({ text }) => text.includes(':')) ? null : 'tar writes files, and flags start programs';
}

/** Only printing, deleting, quitting and plain replacing pass: the rest of the language can write files or start programs. */
export function checkSed(words: ShellWord[]): string | null {
  const rest = words.slice(1);
  for (const { text } of rest) {
    if (/^--(in|w|f|s(?!i)|lo|fo|nu|un)/.test(text) || /^-[nErszu]*[^nErszu-]/.test(text))
      return `\`${text}\` may write files or hide instructions`;
    if (text.startsWith('--') && !/^--(quiet|silent|regexp-extended)$/.test(text)) return `\`${text}\` is not known to be harmless`;
  }
  const script = rest.find(({ text }) => !text.startsWith('-'));
  if (script === undefined) return null;
  const isPlain = script.literal && isPlainSedScript(script.text);
  return isPlain ? null : 'sed can write files and start programs, and this script is not known to be harmless';
}

/** An awk program must be literal and must not contain anything that starts programs or reads or writes files. */
export function checkAwk(words: ShellWord[]): string | null {
  const rest = words.slice(1);
  let at = 0;
  while (/^-F/.test(rest[at]?.text ?? '')) at += rest[at]?.text === '-F' ? 2 : 1;
  const script = rest[at];
  if (script === undefined || script.text.startsWith('-')) return 'its flags can name programs in files';
  if (rest.slice(at + 1).some(({ text }) => text.startsWith('-') || /^\w+=/.test(text)))
    return 'its variables and flags change what it does';
  if (!script.literal) return 'its program is known only when it runs';
  if (/system|getline|[|>@]|close|ENVIRON|ARGV|SYMTAB|FUNCTAB|PROCINFO|extension|print\s*<|include|load|\\/.test(script.text))
    return 'it can start programs and write files';
  return null;
}
