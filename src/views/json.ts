// The JSON values of the command line and of the HTTP API, with keys in a fixed order and hidden characters escaped.
import type { Agent } from '../contract/agent.ts';
import type { Artifact } from '../contract/artifact.ts';
import { completeOutcome } from '../contract/complete-outcome.ts';
import type { ErasedFact, Fact } from '../contract/fact.ts';
import type { Outcome, RecordedOutcome } from '../contract/outcome.ts';
import type { RunDetail, RunView } from '../contract/view.ts';
import type { Activity } from '../ports/dialect.ts';
import { serverToPublicJson } from '../text/hide-credentials.ts';
import { stringifySafely } from '../text/terminal.ts';

export function factToJsonLine(fact: Fact | ErasedFact, activity: Activity | null = null): string {
  return `${stringifySafely(factToJson(fact, activity))}\n`;
}

/** Without the store's position, which is a cursor and not part of the fact. `activity` is the entry of the dialect's own activity log. */
export function factToJson(fact: Fact | ErasedFact, activity: Activity | null = null): object {
  const { runId, seq, at, v, type, hash } = fact;
  if ('erased' in fact) return { runId, seq, at, v, type, erased: true, hash };
  const { data } = fact;
  return { runId, seq, at, v, type, data, hash, ...(activity && { activity }) };
}

/** Keys in the order of the contract; facts have sorted ones. */
export function artifactToJson({ kind, value, title, bytes }: Artifact): Artifact {
  return { kind, value, ...(title === undefined ? {} : { title }), bytes };
}

export function outcomeToJson(recorded: RecordedOutcome): Outcome {
  const { error } = recorded;
  return {
    ...completeOutcome(recorded),
    artifacts: recorded.artifacts.map(artifactToJson),
    error: error && { code: error.code, message: error.message, retryable: error.retryable },
  };
}

export function runToJson(run: RunView): Omit<RunView, 'driven' | 'task'> {
  const { runId, parentId, rootId, depth, kind, label, agent, status, turns, tokens, costUsd, startedAt, endedAt, worker } = run;
  return { runId, parentId, rootId, depth, kind, label, agent, status, turns, tokens, costUsd, startedAt, endedAt, worker };
}

/** `pid`, while the run is live: its own process (`toolPid`) if there is one, otherwise the process that drives the tree. */
export function runDetailToJson(run: RunDetail, toolPid: number | null = null): object {
  return {
    ...runToJson(run),
    brief: run.brief,
    grant: run.grant,
    servers: Object.fromEntries(Object.entries(run.servers).map(([name, server]) => [name, serverToPublicJson(server)])),
    outcome: run.outcome && outcomeToJson(run.outcome),
    ...(run.pid === null ? {} : { pid: toolPid ?? run.pid }),
    model: run.model,
    ...(run.external && { external: run.external }),
    ...(run.models && { models: run.models }),
    ...(run.modelChanges && { modelChanges: run.modelChanges }),
    ...(run.effort !== undefined && { effort: run.effort }),
    ...(run.compactions && { compactions: run.compactions }),
    ...(run.pause && { pause: run.pause }),
    ...(run.queue !== undefined && { queue: run.queue }),
    deadline: run.deadline,
    addedRules: run.addedRules,
    notices: run.notices,
    taint: run.taint,
    ...(run.erasedAt === undefined ? {} : { erasedAt: run.erasedAt }),
    children: run.children.map(runToJson),
  };
}

/** Servers appear by name only: their definitions may contain secrets. */
export function agentToJson(agent: Agent): object {
  if (agent.mcpServers === undefined) return agent;
  return { ...agent, mcpServers: agent.mcpServers.flatMap((server) => (typeof server === 'string' ? [server] : Object.keys(server))) };
}
