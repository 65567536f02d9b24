// Loop version 4: as version 3, and a request that the provider refused as too long is compacted and sent again. Then more than the last answer can stay.
import type { CompactionTexts, LoopVersion } from './loop-texts.ts';
import { loopV3 } from './loop-v3.ts';

const before = loopV3.compaction as CompactionTexts;

const compaction: CompactionTexts = {
  ...before,
  prompt: before.prompt.replace('before your last answer', 'before your latest answers'),
  // The first occurrence is in the text before the summary.
  handOver: (parts) => before.handOver(parts).replace('up to your last answer', 'before the messages that follow'),
  refusedShare: 0.8,
};

export const loopV4: LoopVersion = { ...loopV3, version: 4, compaction };
