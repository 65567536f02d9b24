// Delegation as a client's calls use it: which need a root of the client's own, and which runs they are about.
import { defaultLimits } from '../contract/limits.ts';
import { unknownChildError } from '../kernel/dialect-tools.ts';
import type { Delegation } from '../ports/delegation.ts';
import type { DelegationRequest } from '../ports/dialect.ts';

/** A look at what is open, before anything was delegated, finds nothing; a refusal asks for nothing. */
export function needsClient(request: DelegationRequest): boolean {
  return request.kind !== 'refuse' && !(request.kind === 'wait' && request.ids === null);
}

export function openRuns(delegation: Delegation): string[] {
  return delegation.children().flatMap(({ row, outcome }) => (outcome ? [] : [row.runId]));
}

export function labels(delegation: Delegation): (id: string) => string | null {
  return (id) => delegation.view(id)?.row.label ?? null;
}

/** Whoever reads in the report of a run that has ended knows that it has. */
export function readRun(request: DelegationRequest, delegation: Delegation): string[] {
  return request.kind === 'read' && delegation.view(request.id)?.outcome ? [request.id] : [];
}

/** The same, saying which runs it started. */
export function noting(delegation: Delegation, note: (ids: string[]) => void): Delegation {
  return {
    ...delegation,
    async start(briefs) {
      const started = await delegation.start(briefs);
      note(started.flatMap((each) => (each.ok ? [each.runId] : [])));
      return started;
    },
  };
}

/** The delegation of a client that has delegated nothing. */
export const nobody: Delegation = {
  call: '',
  maxOutputBytes: defaultLimits.maxOutputBytes,
  start: async (briefs) => briefs.map(() => ({ ok: false, error: unknownChildError('').info })),
  wait: async () => {},
  view: () => null,
  recall: async () => null,
  children: () => [],
  message: async (id) => ({ ok: false, error: unknownChildError(id).info }),
  read: async () => null,
  cancel: async () => {},
  agents: () => [],
};
