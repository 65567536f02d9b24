// One line of typed text with a cursor. The text may have line breaks, which come from pasting.
import { sanitizeLine } from '../../text/terminal.ts';
import { textWidth } from '../../views/width.ts';
import type { Key } from './key.ts';

export interface LineEditor {
  /** User-visible characters, so that the cursor never stands inside one. */
  characters: string[];
  cursor: number;
}

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const maxCharacters = 20_000;

export function createLineEditor(text = ''): LineEditor {
  const characters = split(text);
  return { characters, cursor: characters.length };
}

export function editorText({ characters }: LineEditor): string {
  return characters.join('');
}

export function insertText(editor: LineEditor, text: string): void {
  const added = split(text.replaceAll('\r\n', '\n').replaceAll('\r', '\n')).slice(0, maxCharacters - editor.characters.length);
  editor.characters.splice(editor.cursor, 0, ...added);
  editor.cursor += added.length;
}

/** False if the key means nothing to an editor. */
export function editLine(editor: LineEditor, key: Key): boolean {
  const { characters, cursor } = editor;
  switch (key) {
    case 'left':
      editor.cursor = Math.max(0, cursor - 1);
      return true;
    case 'right':
      editor.cursor = Math.min(characters.length, cursor + 1);
      return true;
    case 'home':
    case 'ctrl-a':
      editor.cursor = 0;
      return true;
    case 'end':
    case 'ctrl-e':
      editor.cursor = characters.length;
      return true;
    case 'backspace':
      if (cursor > 0) removeBetween(editor, cursor - 1, cursor);
      return true;
    case 'delete':
      removeBetween(editor, cursor, cursor + 1);
      return true;
    case 'ctrl-u':
      removeBetween(editor, 0, cursor);
      return true;
    case 'ctrl-k':
      removeBetween(editor, cursor, characters.length);
      return true;
    case 'ctrl-w':
      removeBetween(editor, wordStart(editor), cursor);
      return true;
    default:
      if (split(key).length !== 1) return false;
      insertText(editor, key);
      return true;
  }
}

/** The part of the text around the cursor that fits, with a block at the cursor. */
export function renderEditor(editor: LineEditor, columns: number): { before: string; at: string; after: string } {
  const shown = editor.characters.map((character) => (character === '\n' ? '⏎' : sanitizeLine(character) || ' '));
  const at = shown[editor.cursor] ?? ' ';
  let room = Math.max(0, columns - textWidth(at));
  let before = '';
  for (let i = editor.cursor - 1; i >= 0; i--) {
    const character = shown[i] as string;
    if (textWidth(character) > room) break;
    before = character + before;
    room -= textWidth(character);
  }
  let after = '';
  for (const character of shown.slice(editor.cursor + 1)) {
    if (textWidth(character) > room) break;
    after += character;
    room -= textWidth(character);
  }
  return { before, at, after };
}

function removeBetween(editor: LineEditor, from: number, to: number): void {
  editor.characters.splice(from, to - from);
  editor.cursor = Math.min(from, editor.characters.length);
}

function wordStart({ characters, cursor }: LineEditor): number {
  let at = cursor;
  while (at > 0 && characters[at - 1] === ' ') at--;
  while (at > 0 && characters[at - 1] !== ' ') at--;
  return at;
}

function split(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}
