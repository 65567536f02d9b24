// Summaries of a conversation that were made and not used: the log has no fact of its own for that.
import type { Fact } from '../contract/fact.ts';
import { isVisible } from '../text/invisible.ts';

export interface SummaryTracker {
  /** Each fact once, in order. Says with the next fact of a run why its summary was not used; otherwise empty. */
  add(fact: Fact): string;
}

export function createSummaryTracker(): SummaryTracker {
  const asked = new Set<string>();
  /** Runs whose last fact is a summary, and whether it has text. */
  const hasText = new Map<string, boolean>();
  return {
    add(fact) {
      const { runId } = fact;
      const wasText = hasText.get(runId);
      hasText.delete(runId);
      if (fact.type === 'model.asked' && fact.data.purpose === 'compact') asked.add(runId);
      else if (fact.type === 'model.asked' || fact.type === 'model.failed') asked.delete(runId);
      if (fact.type === 'model.answered' && asked.delete(runId))
        hasText.set(
          runId,
          fact.data.content.some((part) => part.type === 'text' && isVisible(part.text)),
        );
      if (wasText === undefined || fact.type === 'context.compacted') return '';
      return wasText ? 'the summary saved too little, so it was not used' : 'the summary was empty, so it was not used';
    },
  };
}
