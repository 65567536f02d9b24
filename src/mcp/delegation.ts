// What an MCP session needs to know about delegation requests, and the delegation of a client that has not delegated anything yet.
import { defaultLimits } from '../contract/limits.ts';
import type { TraceHeaders } from '../contract/trace-context.ts';
import { unknownChildError } from '../kernel/delegation/dialect-tools.ts';
import type { Delegation } from '../ports/delegation.ts';
import type { DelegationRequest } from '../ports/dialect.ts';

/**
 * Whether the request needs a client run. Refusals do not, nor does "wait for everything": without a client run nothing can be open, except what an earlier
 * connection has left in a queue.
 */
export function needsClientRun(request: DelegationRequest, hasQueue: boolean): boolean {
  return request.kind !== 'refuse' && (hasQueue || !(request.kind === 'wait' && request.ids === null));
}

export function listOpenRuns(delegation: Delegation): string[] {
  return delegation.children().flatMap(({ row, outcome }) => (outcome ? [] : [row.runId]));
}

/** The ended runs whose report the request reads: the client then knows that they have ended. */
export function listEndedRunsRead(request: DelegationRequest, delegation: Delegation): string[] {
  return request.kind === 'read' && delegation.view(request.id)?.outcome ? [request.id] : [];
}

/** The same delegation; `onStart` gets the ids of the runs it starts, which belong to the trace of the call. */
export function observeStarts(delegation: Delegation, trace: TraceHeaders, onStart: (ids: string[]) => void): Delegation {
  return {
    ...delegation,
    async start(briefs) {
      const started = await delegation.start(briefs, { trace });
      onStart(started.flatMap((each) => (each.ok ? [each.runId] : [])));
      return started;
    },
  };
}

/** The delegation of a client without a client run. */
export const emptyDelegation: Delegation = {
  call: '',
  maxOutputBytes: defaultLimits.maxOutputBytes,
  maxConcurrent: null,
  start: async (briefs) => briefs.map(() => ({ ok: false, error: unknownChildError('').info })),
  wait: async () => {},
  view: () => null,
  viewEarlier: async () => null,
  children: () => [],
  newest: (id) => id,
  message: async (id) => ({ ok: false, error: unknownChildError(id).info }),
  read: async () => null,
  cancel: async () => {},
  apply: async ([id = '']) => ({ ok: false, error: unknownChildError(id).info }),
  agents: () => [],
};
