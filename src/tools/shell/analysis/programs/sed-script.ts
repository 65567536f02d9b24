// Reads a sed script. Only printing, deleting, quitting and replacing are understood: the rest of the language can write files or start programs.
//
// Versions of sed differ in whether the delimiter ends a pattern inside a bracket expression, as in `s/[/]/x/`. Such a script is not understood.

const maxLength = 500;
const delimiters = '/|#,:@!%~+_';

/** Whether every version of sed reads the script as commands that only print, delete, quit and replace. */
export function isPlainSedScript(script: string): boolean {
  if (script.length > maxLength || /[\n\r]/.test(script)) return false;
  for (let at = skip(script, 0, ' ;'); at < script.length; ) {
    const end = readCommand(script, at);
    if (end === null) return false;
    const next = skip(script, end, ' ');
    if (next < script.length && script[next] !== ';') return false;
    at = skip(script, next, ' ;');
  }
  return true;
}

/** Where the command ends that begins at `at`, or null. */
function readCommand(script: string, at: number): number | null {
  const address = readAddresses(script, at);
  if (address === null) return null;
  const begin = skip(script, address, ' !');
  const name = script[begin] ?? '';
  if (name !== '' && 'pdq='.includes(name)) return begin + 1;
  if (name !== 's') return null;
  const delimiter = script[begin + 1] ?? '';
  if (delimiter === '' || !delimiters.includes(delimiter)) return null;
  const pattern = readPattern(script, begin + 2, delimiter);
  const replacement = pattern === null ? null : readTo(script, pattern, delimiter);
  return replacement === null ? null : skip(script, replacement, 'gpiImM0123456789');
}

/** One address or two, or none. */
function readAddresses(script: string, at: number): number | null {
  const first = readAddress(script, at);
  if (first === null || first === at) return first;
  const comma = skip(script, first, ' ');
  if (script[comma] !== ',') return first;
  const begin = skip(script, comma + 1, ' ');
  const second = readAddress(script, '+~'.includes(script[begin] ?? '?') ? begin + 1 : begin);
  return second === begin ? null : second;
}

function readAddress(script: string, at: number): number | null {
  const [line] = /^(?:\d+(?:~\d+)?|\$)/.exec(script.slice(at)) ?? [''];
  if (script[at] !== '/') return at + line.length;
  const end = readPattern(script, at + 1, '/');
  return end === null ? null : skip(script, end, 'IM');
}

/** The position after the delimiter, or null if there is none or a bracket expression is open there. */
function readPattern(script: string, at: number, delimiter: string): number | null {
  const end = readTo(script, at, delimiter);
  return end === null || hasOpenBracket(script.slice(at, end - 1)) ? null : end;
}

function readTo(script: string, begin: number, delimiter: string): number | null {
  for (let at = begin; at < script.length; at++) {
    if (script[at] === '\\') at++;
    else if (script[at] === delimiter) return at + 1;
  }
  return null;
}

/** A whole bracket expression, in which `]` is a character if it comes first. */
const bracket = /^\[(?:\^|(?!\^))(?:\]|\[:[a-z]+:\]|[^\]\\[])(?:\[:[a-z]+:\]|[^\]\\[])*\]/;

function hasOpenBracket(pattern: string): boolean {
  for (let at = 0; at < pattern.length; ) {
    if (pattern[at] === '[') {
      const [found] = bracket.exec(pattern.slice(at)) ?? [];
      if (found === undefined) return true;
      at += found.length;
    } else at += pattern[at] === '\\' ? 2 : 1;
  }
  return false;
}

function skip(script: string, begin: number, chars: string): number {
  let at = begin;
  while (at < script.length && chars.includes(script[at] as string)) at++;
  return at;
}
