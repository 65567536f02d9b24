// A message to a run that another session drives, and that ends in the moment in which the message is sent.
import { expect, it } from 'vitest';
import type { Api } from '../../src/api/api.ts';
import { RetinueError } from '../../src/contract/error.ts';
import { emptyDelegation } from '../../src/mcp/delegation.ts';
import { includeOtherRuns } from '../../src/mcp/other-runs.ts';
import type { ChildView, DelegationStart } from '../../src/ports/delegation.ts';

const id = 'a'.repeat(16);
const followUp = 'b'.repeat(16);

/** The run ends when it gets the message; `isInterrupted`: its process dies instead. */
function createRace({ followUpRefusal, isInterrupted = false }: { followUpRefusal: string | null; isInterrupted?: boolean }) {
  const options: unknown[] = [];
  const started: string[] = [];
  let outcome: object | null = null;
  const own = {
    ...emptyDelegation,
    viewEarlier: async () => ({ row: { runId: id }, outcome, taint: [] }) as unknown as ChildView,
    message: async (_: string, text: string): Promise<DelegationStart> => {
      started.push(text);
      return { ok: true, runId: followUp };
    },
  };
  const message: Api['message'] = async (_, __, given) => {
    options.push(given);
    if (!isInterrupted) outcome = {};
    throw new RetinueError('parent_ended', 'it ended before it got the message');
  };
  const api = { message, wait: async () => [], cancel: async () => [] };
  return { delegation: includeOtherRuns(own, { api, waitIds: null, followUpRefusal }), options, started };
}

it('starts no run for a role that may not', async () => {
  const { delegation, options, started } = createRace({ followUpRefusal: 'a follow-up needs `start`' });
  expect(await delegation.message(id, 'more')).toMatchObject({
    ok: false,
    error: { code: 'denied', message: 'a follow-up needs `start`' },
  });
  expect([options, started]).toEqual([[{ followUp: false }], []]);
});

it('starts the follow-up as a run of the caller, whose id it returns', async () => {
  const { delegation, options, started } = createRace({ followUpRefusal: null });
  expect(await delegation.message(id, 'more')).toEqual({ ok: true, runId: followUp });
  expect([options, started]).toEqual([[{ followUp: false }], ['more']]);
});

it('reports a run that was interrupted', async () => {
  const { delegation, started } = createRace({ followUpRefusal: null, isInterrupted: true });
  expect(await delegation.message(id, 'more')).toMatchObject({ ok: false, error: { code: 'parent_ended' } });
  expect(started).toEqual([]);
});
