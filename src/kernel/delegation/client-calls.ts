// Calls of a client as facts of the client's run, for dialects that keep a record of every call. A client has no model whose answers contain the
// calls, so `turn` counts its calls.
import type { Draft } from '../../contract/fact.ts';
import type { Decision } from '../../contract/grant.ts';
import type { Json } from '../../contract/json.ts';
import type { Run } from '../run.ts';
import type { Services } from '../services.ts';
import { toolFinishedFact } from '../tool-calls/judge.ts';
import { redactJson } from '../tool-calls/original-arguments.ts';

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
  const redactText: Services['redact'] = (text, hasKeyShapes) => redact(text.toWellFormed(), hasKeyShapes);
  return ({ tool, isInvalid, ...call }) => {
    const ref = { index: 0, turn: ++turn };
    const rejected = isInvalid ? ('malformed' as const) : null;
    const args = redactJson(call.arguments, redactText);
    const asked: Draft = {
      type: 'tool.asked',
      data: { arguments: args, decision, idempotent: false, index: ref.index, rejected, tool, turn: ref.turn, waits: !isInvalid },
    };
    void run.record([asked]);
    return {
      id: `${run.id}/${ref.turn}.${ref.index}`,
      async finish({ output, isError }) {
        const finished = toolFinishedFact(ref, { status: isError ? 'error' : 'ok', output: redactText(output, true), taint: ['child'] });
        await run.record([finished]).catch(() => {});
      },
    };
  };
}
