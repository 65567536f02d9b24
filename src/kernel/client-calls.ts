// Calls of a client as facts of the client's run, for dialects that keep a record of every call. A client has no model whose answers contain the
// calls, so `turn` counts its calls.
import type { Draft } from '../contract/fact.ts';
import type { Decision } from '../contract/grant.ts';
import type { Json } from '../contract/json.ts';
import { toolFinishedFact } from './judge.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';

export interface ClientCall {
  tool: string;
  arguments: Json;
  /** The arguments are not what the tool accepts. */
  isInvalid: boolean;
}

export interface CallRecord {
  /** Identifies the call: the client's run, and its turn and index there. */
  id: string;
  /** Resolves when the result is in the journal, or when the tree was lost. `output`: what the client reads. */
  finish(result: { output: string; isError: boolean }): Promise<void>;
}

const decision: Decision = { action: 'allow', owner: 'kernel', rule: null };

/** Numbers and records the calls of one client. */
export function createCallRecorder(run: Run, { redact }: Services): (call: ClientCall) => CallRecord {
  let turn = 0;
  const redactJson = (value: Json): Json => {
    if (typeof value === 'string') return redact(value.toWellFormed(), false);
    if (Array.isArray(value)) return value.map(redactJson);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [redact(key.toWellFormed(), false), redactJson(inner as Json)]));
  };
  return ({ tool, isInvalid, ...call }) => {
    const ref = { index: 0, turn: ++turn };
    const rejected = isInvalid ? ('malformed' as const) : null;
    const asked: Draft = {
      type: 'tool.asked',
      data: { arguments: redactJson(call.arguments), decision, idempotent: false, ...ref, rejected, tool, waits: !isInvalid },
    };
    void run.record([asked]);
    return {
      id: `${run.id}/${ref.turn}.${ref.index}`,
      async finish({ output, isError }) {
        const finished = toolFinishedFact(ref, isError ? 'error' : 'ok', redact(output.toWellFormed(), true), { taint: ['child'] });
        await run.record([finished]).catch(() => {});
      },
    };
  };
}
