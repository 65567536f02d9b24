// Text as it can be drawn on any terminal.
//
// 1. The result has no control characters, whatever the caller forgot.
// 2. The result has only characters whose width all terminals agree on: a row that takes more columns than expected would leave remains on the
//    screen. So emoji lose joiners, variants and skin tones.
import { sanitizeLine } from '../../text/terminal.ts';

const ascii = /^[\x20-\x7e]*$/;
const control = /[\x00-\x1f\x7f-\x9f]/;
const disputed =
  /(?<=\p{Extended_Pictographic}\ufe0f?|\p{Emoji_Modifier})\u200d|[\ufe00-\ufe0f]|(?<=\p{Emoji_Modifier_Base})\p{Emoji_Modifier}|[\u{e0020}-\u{e007f}]/gu;

export function toDrawable(text: string): string {
  if (ascii.test(text)) return text;
  return (control.test(text) ? sanitizeLine(text) : text).replace(disputed, '');
}

/** The same for text that must be shown completely: what cannot be drawn becomes a mark such as ⟦U+200D⟧. */
export function markUndrawable(text: string): string {
  if (ascii.test(text)) return text;
  return text.replace(disputed, (found) => `⟦U+${(found.codePointAt(0) as number).toString(16).toUpperCase()}⟧`);
}
