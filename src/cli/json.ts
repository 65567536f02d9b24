// The shapes that `--json` prints, with their keys in a fixed order. Whatever a terminal could act on is escaped.
import type { RunDetail, RunView } from '../api/api.ts';
import { describeServer } from '../config/displayed-server.ts';
import type { ErasedFact, Fact } from '../contract/fact.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { Activity } from '../ports/dialect.ts';
import { cleanJson } from './clean.ts';
import type { Io } from './io.ts';

/** One value: spread out for a person, on one line for a program. */
export function printJson(io: Io, value: unknown): void {
  io.out(`${cleanJson(value, io.outTTY ? 2 : undefined)}\n`);
}

export function factLine(fact: Fact | ErasedFact, activity: Activity | null = null): string {
  return `${cleanJson(factJson(fact, activity))}\n`;
}

/** Without the store's position, which is a cursor and no part of the fact; with the entry of its dialect's activity log, where it has one. */
export function factJson(fact: Fact | ErasedFact, activity: Activity | null = null): object {
  const { runId, seq, at, v, type, hash } = fact;
  if ('erased' in fact) return { runId, seq, at, v, type, erased: true, hash };
  const { data } = fact;
  return { runId, seq, at, v, type, data, hash, ...(activity && { activity }) };
}

export function viewJson(run: RunView): Omit<RunView, 'driven'> {
  const { runId, parentId, rootId, depth, kind, label, agent, status, turns, tokens, costUsd, startedAt, endedAt } = run;
  return { runId, parentId, rootId, depth, kind, label, agent, status, turns, tokens, costUsd, startedAt, endedAt };
}

export function detailJson(run: RunDetail): object {
  return {
    ...viewJson(run),
    brief: run.brief,
    grant: run.grant,
    servers: Object.fromEntries(Object.entries(run.servers).map(([name, server]) => [name, describeServer(server)])),
    outcome: run.outcome && outcomeJson(run.outcome),
    taint: run.taint,
    ...(run.erasedAt === undefined ? {} : { erasedAt: run.erasedAt }),
    children: run.children.map(viewJson),
  };
}

/** Rebuilt, because an outcome that was stored with sorted keys must still print in the order of the contract. */
export function outcomeJson(outcome: Outcome): Outcome {
  const { runId, parentId, rootId, depth, label, agent, status, success, summary, data } = outcome;
  const { artifacts, error, terminated, truncated, turns, tokens, costUsd, startedAt, endedAt, durationMs } = outcome;
  return {
    ...{ runId, parentId, rootId, depth, label, agent, status, success, summary },
    ...(data === undefined ? {} : { data }),
    ...{ artifacts, error, terminated, truncated, turns, tokens, costUsd, startedAt, endedAt, durationMs },
  };
}
