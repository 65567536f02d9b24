// Loop version 4: as version 3, and a request that the provider refused as too long is compacted and sent again. Then more than the last answer can stay.
// The report on a child that had acceptance checks says whether they have passed.
import type { Outcome } from '../contract/outcome.ts';
import { verifiedWord } from '../text/verified.ts';
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

function childEnded(outcome: Outcome, readTool: string | null): string {
  const text = loopV3.childEnded(outcome, readTool);
  const verified = verifiedWord(outcome);
  // The first occurrence is in the head line.
  return verified === null ? text : text.replace(` · ${outcome.status} · `, ` · ${outcome.status} · ${verified} · `);
}

export const loopV4: LoopVersion = { ...loopV3, version: 4, childEnded, compaction };
