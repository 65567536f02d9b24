// The complete arguments of a call for a person, with texts of several lines as lines instead of JSON.
import type { Json } from '../contract/json.ts';
import { formatArguments, markInvisibleLine } from '../text/invisible.ts';

/** Before each line of a text, so that no line of it can imitate another argument. */
const border = '│ ';
const maxBlank = 5;

/**
 * Like `formatArguments`, but a text of several lines among other arguments, such as the content of a file, is one line each. Everything is
 * shown, in marked characters where it would be invisible. Short arguments come first.
 */
export function argumentsToText(args: Json): string {
  const entries = typeof args === 'object' && args !== null && !Array.isArray(args) ? Object.entries(args) : [];
  if (entries.length < 2 || !entries.some(([, value]) => hasLines(value))) return formatArguments(args);
  return [...entries.filter(([, value]) => !hasLines(value)), ...entries.filter(([, value]) => hasLines(value))]
    .flatMap(([key, value]) => argumentLines(key, value))
    .join('\n');
}

function hasLines(value: Json): value is string {
  return typeof value === 'string' && value.includes('\n');
}

function argumentLines(key: string, value: Json): string[] {
  const name = /^\w+$/.test(key) ? key : markInvisibleLine(JSON.stringify(key));
  if (!hasLines(value)) {
    const [first = '', ...more] = JSON.stringify(value, null, 2).split('\n').map(markInvisibleLine);
    return [`${name}: ${first}`, ...more];
  }
  // A line break at the end ends the last line.
  const isEnded = value.endsWith('\n');
  const lines = (isEnded ? value.slice(0, -1) : value).split('\n').map(markLine);
  const size = lines.length === 1 ? '1 line' : `${lines.length} lines`;
  return [`${name}: ${size}${isEnded ? '' : ', no line break at the end'}`, ...foldBlankLines(lines).map((line) => border + line)];
}

/** Tabs are part of many files. */
function markLine(line: string): string {
  return line.split('\t').map(markInvisibleLine).join('\t');
}

/** Longer runs of blank lines are replaced by their number: they could push the rest off the screen. */
export function foldBlankLines(lines: string[]): string[] {
  const shown: string[] = [];
  let blank: string[] = [];
  const flush = () => {
    shown.push(...(blank.length > maxBlank ? [`[${blank.length} blank lines]`] : blank));
    blank = [];
  };
  for (const line of lines) {
    // U+2800, the empty braille pattern, is a letter that shows nothing.
    if (/^[\s\u2800]*$/.test(line)) {
      blank.push(line);
      continue;
    }
    flush();
    shown.push(line);
  }
  flush();
  return shown;
}
