// What a command prints while a run is going on: a live display on a terminal, otherwise one line per important event, or events as JSON Lines.
import type { LiveEvent } from '../../api/api.ts';
import type { Fact } from '../../contract/fact.ts';
import type { Outcome } from '../../contract/outcome.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { createProgressDescriber, describeLimits } from '../../views/describe-fact.ts';
import { shortId } from '../../views/format.ts';
import { factToJsonLine } from '../../views/json.ts';
import { applyEvent, applyOutcome, createLiveState } from '../../views/live-state.ts';
import { createTreeCounter, type TreeCount } from '../../views/tree-counter.ts';
import type { OutputMode } from '../args/settings-flags.ts';
import type { Io } from '../io.ts';
import { createLiveLines } from './live-lines.ts';
import { createOpenforkLines } from './openfork-lines.ts';
import { renderTree } from './render-tree.ts';

export interface Progress {
  handleEvent(event: LiveEvent): void;
  /** Takes a fact from before the display began: it changes the state and prints nothing. */
  catchUp(fact: Fact): void;
  print(text: string): void;
  /** Writes nothing until the returned function is called, so that a question stays readable. */
  suspend(): () => void;
  /** Leaves the final state on the screen. */
  end(outcome: Outcome | null): void;
  /** Turns and runs of a run and its descendants, of all facts so far. */
  count(runId: string): TreeCount;
  /** When the time limit of the run ends; null if it has none or has not started. */
  deadline(runId: string): string | null;
}

type Display = Omit<Progress, 'count' | 'deadline'>;

/** Between events only the elapsed seconds change. */
const repaintMs = 100;
const maxFinalRows = 200;

export function createProgress(io: Io, { stream, plain }: Pick<OutputMode, 'stream' | 'plain'>): Progress {
  const display = stream ? createEventStream(io) : io.errTTY && !plain ? createLiveDisplay(io) : createEventLines(io);
  const counter = createTreeCounter();
  const deadlines = new Map<string, string | null>();
  const note = (fact: Fact) => {
    counter.add(fact);
    if (fact.type === 'run.started') deadlines.set(fact.runId, fact.data.deadline);
    // The time until it is resumed does not count.
    if (fact.type === 'run.paused' && fact.data.budget !== undefined) deadlines.delete(fact.runId);
  };
  return {
    ...display,
    handleEvent(event) {
      if (event.type !== 'delta') note(event);
      display.handleEvent(event);
    },
    catchUp(fact) {
      note(fact);
      display.catchUp(fact);
    },
    count: counter.count,
    deadline: (runId) => deadlines.get(runId) ?? null,
  };
}

function createLiveDisplay(io: Io): Display {
  const state = createLiveState();
  const lines = createLiveLines(io);
  const openforkLine = createOpenforkLines(io);
  let isEnding = false;
  /** Texts to print after the suspension; null while not suspended. */
  let delayed: string[] | null = null;
  let suspensions = 0;
  const print = (text: string) => void (delayed ? delayed.push(text) : lines.printAbove(text));
  const repaint = () => {
    if (delayed !== null) return;
    const rows = isEnding ? maxFinalRows : Math.max(1, io.rows() - 1);
    lines.update(renderTree(state, { columns: Math.max(1, io.columns() - 1), rows, now: io.now(), colour: io.colour.err }));
  };
  const stopRepainting = io.repeat(repaintMs, repaint);
  return {
    handleEvent(event) {
      applyEvent(state, event);
      const notices = describeNotices(event);
      const openfork = openforkLine(event);
      if (notices !== '') print(notices);
      if (openfork !== null) print(openfork.text);
    },
    catchUp(fact) {
      applyEvent(state, fact);
      openforkLine(fact);
    },
    print,
    suspend() {
      lines.update([]);
      delayed ??= [];
      suspensions++;
      return () => {
        if (--suspensions > 0) return;
        const texts = delayed ?? [];
        delayed = null;
        for (const text of texts) lines.printAbove(text);
      };
    },
    end(outcome) {
      stopRepainting();
      if (outcome) applyOutcome(state, outcome);
      isEnding = true;
      repaint();
    },
  };
}

function createEventLines(io: Io): Display {
  const describe = createProgressDescriber();
  const openforkLine = createOpenforkLines(io);
  return {
    handleEvent(event) {
      if (event.type === 'delta') return;
      const notices = describeNotices(event);
      const line = describe(event);
      const text = openforkLine(event)?.text ?? (line === null ? '' : `${line}\n`);
      if (notices !== '' || text !== '') io.err(notices + text);
    },
    catchUp(fact) {
      describe(fact);
      openforkLine(fact);
    },
    print: io.err,
    suspend: () => () => {},
    end() {},
  };
}

function createEventStream(io: Io): Display {
  return {
    handleEvent(event) {
      if (event.type !== 'delta') io.out(factToJsonLine(event));
    },
    catchUp() {},
    print: io.err,
    suspend: () => () => {},
    end() {},
  };
}

/** Notices of a new run, the limits of a new tree before anything is spent, what is not enforced for an external agent, and what is not in a run's own files. */
function describeNotices(event: LiveEvent): string {
  if (event.type === 'session.opened' || event.type === 'workspace.prepared' || event.type === 'workspace.saved')
    return event.data.notices.map((notice) => `retinue: ${shortId(event.runId)}: ${sanitizeLine(notice)}\n`).join('');
  if (event.type !== 'run.created') return '';
  const { parentId, kind, grant, notices, missingTools } = event.data;
  const all = [...notices, ...(missingTools === undefined ? [] : [`${shortId(event.runId)}: ${missingTools}`])];
  const lines = all.map((notice) => `retinue: ${sanitizeLine(notice)}\n`).join('');
  return parentId === null && kind === 'agent' ? `${lines}retinue: limits: ${describeLimits(grant.limits)}\n` : lines;
}
