// What a client hears while a call of its waits: turns and tools of the runs that the call is about, at a bearable rate, and a sign of life
// when nothing else is to be said, so that clients which wait as long as there is progress go on waiting.
import type { Api, LiveEvent } from '../api/api.ts';
import { cleanText } from '../text/cut.ts';

const tickMs = 500;
/** A sign of life after 10 s of silence. */
const quietTicks = 20;

export interface Progress {
  /** The runs that the call is about, and what they are called. */
  follow(ids: string[], label: (id: string) => string | null): void;
  end(): void;
}

export interface ProgressGround {
  watch: Api['watch'];
  every(ms: number, run: () => void): () => void;
  /** False where it could not be sent now. */
  send(progress: { progress: number; message: string }): boolean;
}

export function createProgress({ watch, every, send }: ProgressGround): Progress {
  const runs = new Map<string, string | null>();
  let steps = 0;
  let sent = 0;
  let news: string | null = null;
  let quiet = 0;
  let free = true;

  const say = (message: string) => {
    // Each is more than the one before, whether a step was made in between or not.
    const progress = Math.max(steps, sent + 1);
    free = false;
    if (!send({ progress, message })) return;
    sent = progress;
    news = null;
    quiet = 0;
  };
  const unwatch = watch((event) => {
    if (event.type === 'run.created' && event.data.parentId !== null && runs.has(event.data.parentId)) {
      runs.set(event.runId, shortLabel(event.data.brief.label ?? null));
    }
    if (!runs.has(event.runId)) return;
    const step = stepOf(event);
    if (step === null) return;
    steps++;
    news = `${runs.get(event.runId) ?? `run ${event.runId.slice(0, 8)}`}: ${step}`;
    if (free) say(news);
  });
  const endTicks = every(tickMs, () => {
    free = true;
    if (news !== null) say(news);
    else if (++quiet >= quietTicks) say(`still at work on ${runs.size === 1 ? '1 run' : `${runs.size} runs`}`);
  });
  return {
    follow(ids, label) {
      for (const id of ids) if (!runs.has(id)) runs.set(id, shortLabel(label(id)));
    },
    end() {
      unwatch();
      endTicks();
    },
  };
}

function shortLabel(label: string | null): string | null {
  return label === null ? null : cleanText(label).slice(0, 80);
}

function stepOf(event: LiveEvent): string | null {
  if (event.type === 'model.asked') return `turn ${event.data.turn}`;
  if (event.type === 'tool.asked') return `turn ${event.data.turn}, ${cleanText(event.data.tool).slice(0, 80)}`;
  return event.type === 'run.ended' ? event.data.outcome.status : null;
}
