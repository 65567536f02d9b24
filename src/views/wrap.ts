// Text in lines of a given width: words stay whole where they fit. Texts are sanitized already.
import { textWidth } from './width.ts';

const tab = '    ';

/** Every line break of the text starts a new line. Continuation lines are indented like their first one. */
export function wrapText(text: string, columns: number): string[] {
  const width = Math.max(1, columns);
  return text
    .replaceAll('\t', tab)
    .split('\n')
    .flatMap((line) => (textWidth(line) <= width ? [line] : wrapLine(line, width)));
}

function wrapLine(line: string, width: number): string[] {
  const [blank = ''] = line.match(/^ */) ?? [];
  // An indentation that leaves little room is dropped.
  const indent = blank.length * 2 >= width ? '' : blank;
  const lines: string[] = [];
  let current = indent;
  let used = indent.length;
  let isEmpty = true;
  const push = () => {
    lines.push(current.trimEnd());
    current = indent;
    used = indent.length;
    isEmpty = true;
  };
  for (const word of line.trim().split(/(?<= )(?! )/)) {
    if (!isEmpty && used + textWidth(word.trimEnd()) > width) push();
    for (const piece of breakWord(word, { width, first: width - used, indent: indent.length })) {
      if (!isEmpty && used + textWidth(piece.trimEnd()) > width) push();
      current += piece;
      used += textWidth(piece);
      isEmpty = false;
    }
  }
  if (!isEmpty) push();
  return lines;
}

/** Pieces of a word that is wider than a line, otherwise the word itself. */
function breakWord(word: string, { width, first, indent }: { width: number; first: number; indent: number }): string[] {
  if (textWidth(word.trimEnd()) <= first) return [word];
  const pieces: string[] = [];
  let piece = '';
  let room = first;
  for (const character of word) {
    if (piece !== '' && character !== ' ' && textWidth(piece + character) > room) {
      pieces.push(piece);
      piece = '';
      room = width - indent;
    }
    piece += character;
  }
  return piece === '' ? pieces : [...pieces, piece];
}
