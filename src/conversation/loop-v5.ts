// Loop version 5: as version 4, but an answer of invisible characters counts as empty, and arguments that were refused because they are nested too deeply
// are not sent back.
import { isVisible } from '../text/invisible.ts';
import { maxArgumentDepth } from './arguments.ts';
import type { LoopVersion } from './loop-texts.ts';
import { loopV4 } from './loop-v4.ts';

export const loopV5: LoopVersion = {
  ...loopV4,
  version: 5,
  argumentDepth: maxArgumentDepth,
  isEmptyAnswer: (text) => !isVisible(text),
};
