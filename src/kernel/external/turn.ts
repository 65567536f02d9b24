// Records what an external agent does in its turns. With a model gate, the facts come from the model's answers that pass it. Without one they come from the
// agent's own reports: what it says is recorded, and nothing proves it.
import type { ContentPart, Usage } from '../../contract/content.ts';
import type { Draft } from '../../contract/fact.ts';
import type { Json } from '../../contract/json.ts';
import { submitTool } from '../../contract/tool-names.ts';
import type { ExternalCall, ExternalHandlers, ExternalTurn } from '../../ports/external-agent.ts';
import { sha256 } from '../../text/canonical.ts';
import type { ModelWork, Run } from '../run.ts';
import type { Services } from '../services.ts';
import { createFailedEnding, type Ending } from '../state/outcome.ts';
import { callAt, currentCalls, livePhase } from '../state/state.ts';
import { createExternalCalls, type ExternalCalls } from './calls.ts';
import { createExternalGate } from './gate.ts';

const noUsage: Usage = { cached: 0, estimated: true, input: 0, output: 0, reasoning: 0 };
const maxTextChars = 4 * 1024 * 1024;

export interface TurnRecorder {
  handlers: ExternalHandlers;
  /** Records the rest of a turn. */
  endTurn(turn: ExternalTurn | null): Promise<void>;
  /** How the run must end, if the gate or a rule has decided that. */
  ending(): Ending | null;
  /** Called once such an ending is decided. */
  onEnd(listener: () => void): void;
  /** No report is recorded any more, except what calls that were sent to the model have used. */
  close(): void;
  /** Waits until everything that was reported is recorded. Never rejects. */
  flushed(): Promise<void>;
}

export function createTurnRecorder(run: Run, services: Services): TurnRecorder {
  const { state } = run;
  const gated = state.created.data.external?.gated === true;
  const modelId = (run.work as ModelWork).model.id;
  const calls = createExternalCalls(run, services);
  const asked = new Set<string>();
  const reported = new Set<string>();
  let text = '';
  let decided: Ending | null = null;
  let listener = () => {};
  let isClosed = false;
  let queue: Promise<unknown> = Promise.resolve();

  /** Reports are recorded one after another, in the order they arrive. */
  function enqueue<T>(work: () => Promise<T>): Promise<T> {
    const done = queue.then(work);
    queue = done.catch(() => {});
    return done;
  }

  function endWith(ending: Ending): void {
    if (decided) return;
    decided = ending;
    listener();
  }

  /** An answer of the model as the agent reports it. */
  function answerDrafts(content: ContentPart[], usage: Usage, finish: 'stop' | 'length' | 'tool-calls'): Draft[] {
    const turn = state.guards.turns + 1;
    const request = sha256(`${run.id} ${state.seq}`);
    return [
      {
        type: 'model.asked',
        data: { attempt: 1, cause: null, maxOutputTokens: null, model: modelId, purpose: 'turn', request, turn, upTo: state.seq },
      },
      { type: 'model.answered', data: { content, costUsd: null, dropped: 0, finish, turn, usage } },
    ];
  }

  function takeText(): ContentPart[] {
    const said = services.redact(text.toWellFormed(), false);
    text = '';
    return said === '' ? [] : [{ type: 'text', text: said }];
  }

  /** Records a call that the agent reports. Calls at the same time belong to one answer. */
  async function recordReported(call: ExternalCall): Promise<void> {
    if (isClosed || calls.find(call)) return;
    const open = currentCalls(state).filter((each) => !each.finished);
    if (open.length > 0 && text === '') {
      const { turn } = open[0] as { turn: number };
      const { drafts } = await calls.judge([call], { turn, from: currentCalls(state).length });
      return run.record(drafts);
    }
    calls.finishOthers('the agent went on without a result of this call');
    const said = takeText();
    const turn = state.guards.turns + 1;
    const { content, drafts } = await calls.judge([call], { turn, from: 0 });
    await run.record([...answerDrafts([...said, ...content], noUsage, 'tool-calls'), ...drafts]);
  }

  /** A call that the rules deny must not succeed without a question. */
  function checkObedience(id: string): void {
    const ref = calls.find({ id, tool: '', args: null });
    const call = ref && callAt(state, ref);
    if (!call || gated || asked.has(id)) return;
    const isDenied = call.rejected !== null && call.rejected !== 'submit';
    const isUnanswered = call.approval !== null && call.approval.answer?.allowed !== true;
    if (isDenied || isUnanswered)
      endWith(
        createFailedEnding('denied', `the agent made a call of ${call.tool} that the rules of this run do not allow, without asking`),
      );
  }

  async function permit(call: ExternalCall): Promise<boolean> {
    asked.add(call.id);
    await enqueue(() => (gated ? addUnknown(call) : recordReported(call)));
    return !isClosed && decided === null && (await calls.isAllowed(call));
  }

  /** A question about a call that is in no answer of the model. */
  async function addUnknown(call: ExternalCall): Promise<void> {
    const phase = livePhase(state);
    if (isClosed || phase.name !== 'answered' || calls.find(call)) return;
    const { drafts } = await calls.judge([call], { turn: phase.answer.turn, from: phase.calls.length });
    await run.record(drafts);
  }

  async function submit(value: Json): Promise<string | null> {
    const { check } = run.work as ModelWork;
    if (!check) return 'no structured result is wanted';
    // With a gate, the result was recorded with the answer that has it.
    if (!gated) await enqueue(() => recordReported({ id: `submit ${state.seq}`, tool: submitTool, args: value }));
    return check(value);
  }

  const emit = createEmitter(run, services);
  const handlers: ExternalHandlers = {
    text(kind, piece) {
      if (isClosed) return;
      emit(kind, piece);
      if (kind === 'text' && !gated && text.length < maxTextChars) text += piece;
    },
    callStarted(call) {
      if (gated || call.tool === submitTool || reported.has(call.id)) return;
      reported.add(call.id);
      void enqueue(() => recordReported(call)).catch(() => {});
    },
    callFinished(result) {
      if (gated) return;
      void enqueue(async () => {
        if (isClosed) return;
        if (!result.isError) checkObedience(result.id);
        calls.finish(result);
      }).catch(() => {});
    },
    permit,
    submit,
    gate: createExternalGate(run, { calls, enqueue, endWith, isClosed: () => isClosed || decided !== null }, services),
  };

  return {
    handlers,
    async endTurn(turn) {
      await enqueue(async () => {
        if (!gated) {
          calls.finishOthers('the agent ended its turn without a result of this call');
          const finish = turn?.stop === 'max_tokens' ? 'length' : 'stop';
          const usage = turn?.usage ?? noUsage;
          // A refusal has ended the turn: the next prompt says so.
          const isRefused = text === '' && currentCalls(state).some((call) => call.finished?.status === 'denied');
          const used: Draft = {
            type: 'model.called',
            data: { costUsd: null, model: modelId, request: sha256(`${run.id} ${state.seq}`), usage },
          };
          await run.record(isRefused ? [used] : answerDrafts(takeText(), usage, finish));
        }
        await recordFencedResult(run, calls);
      });
    },
    ending: () => decided,
    onEnd(given) {
      listener = given;
      if (decided) given();
    },
    close() {
      isClosed = true;
    },
    flushed: () => enqueue(async () => {}),
  };
}

function createEmitter({ id, state }: Run, { journal, redactStream }: Services): (kind: 'text' | 'reasoning', text: string) => void {
  const streams = { text: redactStream(), reasoning: redactStream() };
  return (kind, piece) => {
    const text = streams[kind](piece);
    if (text !== '') journal.emit({ type: 'delta', runId: id, turn: state.guards.turns + 1, kind, text });
  };
}

/** A structured result in the last block of the answer, from an agent without the tool for it. */
async function recordFencedResult(run: Run, calls: ExternalCalls): Promise<void> {
  const { state, work } = run;
  const { check } = work as ModelWork;
  const phase = livePhase(state);
  if (!check || state.data !== undefined || phase.name !== 'answered' || phase.answer.finish === 'tool-calls') return;
  const block = (state.conversation.texts.at(-1) ?? '').match(/```json\s*\n([\s\S]*?)```\s*$/)?.[1];
  if (block === undefined) return;
  let value: Json;
  try {
    value = JSON.parse(block);
  } catch {
    return;
  }
  const { drafts } = await calls.judge([{ id: `block ${state.seq}`, tool: submitTool, args: value }], {
    turn: phase.answer.turn,
    from: phase.calls.length,
  });
  await run.record(drafts);
}
