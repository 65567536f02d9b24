// How a run shows itself while it goes on: live lines on a terminal, else a line per important fact, or facts as JSON Lines.
import type { LiveEvent } from '../api/api.ts';
import type { Fact } from '../contract/fact.ts';
import type { Outcome } from '../contract/outcome.ts';
import { cleanLine } from './clean.ts';
import { createProgress, limitsText } from './describe.ts';
import type { Io } from './io.ts';
import { factLine } from './json.ts';
import { apply, emptyState, settle } from './live-state.ts';
import { createPainter } from './painter.ts';
import { render } from './render.ts';
import { createSubagentLines } from './subagents.ts';

export interface Progress {
  event(event: LiveEvent): void;
  /** A word to the user in between. */
  note(text: string): void;
  /** Nothing is written until the returned function is called: somebody is being asked. */
  suspend(): () => void;
  /** Leaves the final picture standing. */
  end(outcome: Outcome | null): void;
}

/** 10 times a second at most; between facts only the seconds change. */
const repaintMs = 100;
const finalRows = 200;

export function progressFor(io: Io, options: { stream: boolean; plain: boolean }): Progress {
  if (options.stream) return streamed(io);
  return io.errTTY && !options.plain ? live(io) : lines(io);
}

function live(io: Io): Progress {
  const state = emptyState();
  const painter = createPainter(io);
  const subagents = createSubagentLines(io);
  let ending = false;
  let held: string[] | null = null;
  let asking = 0;
  const note = (text: string) => void (held ? held.push(text) : painter.note(text));
  const paint = () =>
    held === null &&
    painter.paint(
      render(state, {
        columns: Math.max(1, io.columns() - 1),
        rows: ending ? finalRows : Math.max(1, io.rows() - 1),
        now: io.now(),
        colour: io.colour.err,
      }),
    );
  const stop = io.repeat(repaintMs, paint);
  return {
    event(event) {
      apply(state, event);
      const said = opening(event);
      const ended = subagents(event);
      if (said !== '') note(said);
      if (ended?.kind === 'end') note(ended.text);
    },
    note,
    suspend() {
      painter.paint([]);
      held ??= [];
      asking++;
      return () => {
        if (--asking > 0) return;
        const kept = held ?? [];
        held = null;
        for (const text of kept) painter.note(text);
      };
    },
    end(outcome) {
      stop();
      if (outcome) settle(state, outcome);
      ending = true;
      paint();
    },
  };
}

function lines(io: Io): Progress {
  const words = createProgress();
  const subagents = createSubagentLines(io);
  return {
    event(event) {
      if (event.type === 'delta') return;
      const said = opening(event);
      const line = words(event);
      const text = subagents(event)?.text ?? (line === null ? '' : `${line}\n`);
      if (said !== '' || text !== '') io.err(said + text);
    },
    note: io.err,
    suspend: () => () => {},
    end() {},
  };
}

function streamed(io: Io): Progress {
  return {
    event(event) {
      if (event.type !== 'delta') io.out(factLine(event));
    },
    note: io.err,
    suspend: () => () => {},
    end() {},
  };
}

/** What a root may use is said before it uses it, and what its admission left out. */
function opening(event: LiveEvent): string {
  if (event.type !== 'run.created') return '';
  const { data } = event as Extract<Fact, { type: 'run.created' }>;
  const notices = data.notices.map((notice) => `retinue: ${cleanLine(notice)}\n`).join('');
  return data.parentId === null && data.kind === 'agent'
    ? `${notices}retinue: limits of this tree: ${limitsText(data.grant.limits)}\n`
    : notices;
}
