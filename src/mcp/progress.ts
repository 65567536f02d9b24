// Progress notifications for a waiting tool call: turns and tool calls of its runs, at most two per second, and a keep-alive message after
// 10 seconds without news, for clients that extend their timeout on progress.
import type { Api, LiveEvent } from '../api/api.ts';
import { cleanText } from '../text/cut.ts';

const tickMs = 500;
const quietTicksBeforeKeepAlive = 20;
const maxNameChars = 80;

export interface ProgressReporter {
  /** Adds runs to report on. Runs that they delegate are added automatically. */
  follow(runs: { id: string; label: string | null; hasEnded: boolean }[]): void;
  end(): void;
}

export interface ProgressDeps {
  watch: Api['watch'];
  every(ms: number, run: () => void): () => void;
  /** False if the notification could not be sent now. */
  send(progress: { progress: number; message: string }): boolean;
}

export function createProgressReporter({ watch, every, send }: ProgressDeps): ProgressReporter {
  const labels = new Map<string, string | null>();
  const active = new Set<string>();
  let steps = 0;
  let lastSent = 0;
  let unsent: string | null = null;
  let quietTicks = 0;
  let maySend = true;

  const report = (message: string) => {
    // The protocol requires each value to be larger than the one before, even without a new step.
    const progress = Math.max(steps, lastSent + 1);
    maySend = false;
    if (!send({ progress, message })) return;
    lastSent = progress;
    unsent = null;
    quietTicks = 0;
  };
  const unwatch = watch((event) => {
    if (event.type === 'run.created' && event.data.parentId !== null && labels.has(event.data.parentId)) {
      labels.set(event.runId, shortenLabel(event.data.brief.label ?? null));
      active.add(event.runId);
    }
    if (!labels.has(event.runId)) return;
    if (event.type === 'run.ended') active.delete(event.runId);
    const step = describeStep(event);
    if (step === null) return;
    steps++;
    unsent = `${labels.get(event.runId) ?? `run ${event.runId.slice(0, 8)}`}: ${step}`;
    if (maySend) report(unsent);
  });
  const stopTicks = every(tickMs, () => {
    maySend = true;
    if (unsent !== null) report(unsent);
    else if (++quietTicks >= quietTicksBeforeKeepAlive)
      report(`${active.size === 1 ? '1 run is' : `${active.size} runs are`} still running`);
  });
  return {
    follow(runs) {
      for (const { id, label, hasEnded } of runs) {
        if (labels.has(id)) continue;
        labels.set(id, shortenLabel(label));
        if (!hasEnded) active.add(id);
      }
    },
    end() {
      unwatch();
      stopTicks();
    },
  };
}

function shortenLabel(label: string | null): string | null {
  return label === null ? null : cleanText(label).slice(0, maxNameChars);
}

/** Null for events that are not worth a notification. */
function describeStep(event: LiveEvent): string | null {
  if (event.type === 'model.asked') return `turn ${event.data.turn}`;
  if (event.type === 'tool.asked') return `turn ${event.data.turn}, ${cleanText(event.data.tool).slice(0, maxNameChars)}`;
  return event.type === 'run.ended' ? event.data.outcome.status : null;
}
