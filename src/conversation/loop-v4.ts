// Loop version 4: as version 3, and a request that the provider refused as too long is compacted and sent again. Then more than the last answer can stay.
// If there are more files than it lists, changed files and the latest ones stay in the hand-over. The report on a child that had acceptance checks says whether they have passed.
import type { Outcome } from '../contract/outcome.ts';
import { verifiedWord } from '../text/verified.ts';
import type { CompactionTexts, HandOverParts, LoopVersion } from './loop-texts.ts';
import { loopV3, maxFiles } from './loop-v3.ts';

const before = loopV3.compaction as CompactionTexts;

/** More files than the hand-over lists: those that the run has changed come first, then those that it has read last. */
function orderFiles({ files, changed, latest }: HandOverParts): HandOverParts['files'] {
  if (files.length <= maxFiles) return files;
  const versions = new Map(files);
  const ordered = [...latest.filter((path) => changed.has(path)), ...latest.filter((path) => !changed.has(path))];
  return ordered.flatMap((path): HandOverParts['files'] => {
    const version = versions.get(path);
    return version === undefined ? [] : [[path, version]];
  });
}

const compaction: CompactionTexts = {
  ...before,
  prompt: before.prompt.replace('before your last answer', 'before your latest answers'),
  // The first occurrence is in the text before the summary.
  handOver: (parts) =>
    before.handOver({ ...parts, files: orderFiles(parts) }).replace('up to your last answer', 'before the messages that follow'),
  refusedShare: 0.8,
};

function childEnded(outcome: Outcome, readTool: string | null): string {
  const text = loopV3.childEnded(outcome, readTool);
  const verified = verifiedWord(outcome);
  // The first occurrence is in the head line.
  return verified === null ? text : text.replace(` · ${outcome.status} · `, ` · ${outcome.status} · ${verified} · `);
}

export const loopV4: LoopVersion = { ...loopV3, version: 4, childEnded, compaction };
