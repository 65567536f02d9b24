// Turns the facts and deltas of one tree into updates of a session. Live and stored facts go the same way, so that a loaded session shows what the
// live one showed.
//
//  1. Calls of the root are tool calls of the session. A child is one tool call with its progress; its own calls appear only if they need
//     approval.
//  2. Every tool call that was shown ends as completed or failed, at the latest with the tree.
//  3. After `abandon`, nothing is sent.
import type { Delta } from '../contract/delta.ts';
import type { Fact, FactOf } from '../contract/fact.ts';
import type { Json } from '../contract/json.ts';
import { sanitizeLine } from '../text/terminal.ts';
import { callKey, describeCall } from '../views/describe-call.ts';
import { createAnswerText } from './answer-text.ts';
import { createPlan } from './plan.ts';
import type { PlanEntry, SessionUpdate, ToolContent } from './protocol.ts';
import { absolutePath, describeToolCall, diffToContent, outputContent } from './tool-call.ts';

/** Lines of a child's progress that are shown. */
const progressLines = 6;

export interface TreeUpdatesDeps {
  workspace: string;
  /** The facts are old: prompts are shown, too. */
  isReplay: boolean;
  send(update: SessionUpdate): void;
  isCongested(): boolean;
  /** What the user should know, and what is not a part of the conversation. */
  notice(severity: 'info' | 'warning' | 'error', text: string): void;
  /** After each answer of the root. `used`: tokens of its conversation. `costUsd`: of the whole tree so far; null while unknown. */
  usage(usage: { model: string; used: number; costUsd: number | null }): void;
}

export interface TreeUpdates {
  take(event: Fact | Delta): void;
  /** Shows a call of a child that needs approval. */
  reveal(runId: string, call: { turn: number; index: number }): void;
  /** Ends what is open, and ignores all further events. */
  abandon(): void;
}

interface Call {
  tool: string;
  arguments: Json;
  isShown: boolean;
  isOpen: boolean;
  diffs: ToolContent[];
  output: ToolContent[];
}

interface Child {
  name: string;
  lines: string[];
  diffs: ToolContent[];
  isOpen: boolean;
}

export function createTreeUpdates(deps: TreeUpdatesDeps): TreeUpdates {
  const { workspace, isReplay, notice } = deps;
  const calls = new Map<string, Call>();
  const children = new Map<string, Child>();
  const plan = createPlan();
  let rootId: string | null = null;
  let model = '';
  let costUsd: number | null = null;
  let isAbandoned = false;
  const send = (update: SessionUpdate) => {
    if (!isAbandoned) deps.send(update);
  };
  const answerText = createAnswerText({ send, isCongested: deps.isCongested });

  const updateCall = (id: string, fields: Omit<SessionUpdate & { sessionUpdate: 'tool_call_update' }, 'sessionUpdate' | 'toolCallId'>) =>
    send({ sessionUpdate: 'tool_call_update', toolCallId: id, ...fields });

  function sendPlan(entries: PlanEntry[] | null): void {
    if (entries !== null) send({ sessionUpdate: 'plan', entries });
  }

  function showUser(text: string, messageId: string): void {
    send({ sessionUpdate: 'user_message_chunk', content: { type: 'text', text }, messageId });
  }

  function addRun({ runId, data }: FactOf<'run.created'>): void {
    if (data.parentId === null) {
      rootId = runId;
      if (isReplay) showUser(data.brief.task, `${runId}.prompt`);
      else for (const text of data.notices) notice('warning', text);
      return;
    }
    if (rootId === null || data.rootId !== rootId) return;
    const task = data.brief.label ?? (data.brief.task.slice(0, 200).split('\n', 1)[0] as string);
    const name = sanitizeLine(`${data.agent ?? 'agent'}: ${task}`);
    children.set(runId, { name, lines: [], diffs: [], isOpen: true });
    send({ sessionUpdate: 'tool_call', toolCallId: childCallId(runId), title: name, kind: 'think', status: 'in_progress' });
    sendPlan(plan.setChild(runId, { name, isEnded: false }));
  }

  function addProgress(runId: string, line: string): void {
    const child = children.get(runId);
    if (!child) return;
    child.lines = [...child.lines, line].slice(-progressLines);
    // Later progress contains what is skipped now.
    if (!isReplay && !deps.isCongested())
      updateCall(childCallId(runId), { content: [...child.diffs, ...outputContent(child.lines.join('\n'))] });
  }

  function endChild({ data }: FactOf<'child.ended'>): void {
    const child = children.get(data.childId);
    if (!child) return;
    const { success, summary, error } = data.outcome;
    const text = [error === null ? '' : `${error.code}: ${error.message}`, summary].filter((part) => part !== '').join('\n');
    child.isOpen = false;
    updateCall(childCallId(data.childId), {
      status: success ? 'completed' : 'failed',
      content: [...child.diffs, ...outputContent(text)],
    });
    sendPlan(plan.setChild(data.childId, { name: child.name, isEnded: true }));
  }

  function addCall({ runId, data }: FactOf<'tool.asked'>): void {
    const call = { tool: data.tool, arguments: data.arguments, isShown: false, isOpen: true, diffs: [], output: [] };
    calls.set(callId(runId, data), call);
    if (runId === rootId) show(callId(runId, data), call, data.decision.action === 'ask' ? 'pending' : 'in_progress');
    else addProgress(runId, describeCall(data.tool, data.arguments));
  }

  function show(id: string, call: Call, status: 'pending' | 'in_progress'): void {
    if (call.isShown) return;
    call.isShown = true;
    send({ sessionUpdate: 'tool_call', toolCallId: id, ...describeToolCall(call.tool, call.arguments, workspace), status });
  }

  function addArtifact({ runId, data }: FactOf<'artifact.recorded'>): void {
    const { kind, value, title = '' } = data.artifact;
    if (kind !== 'diff') return;
    const id = callId(runId, data);
    const call = calls.get(id);
    const content = diffToContent(value, absolutePath(title, workspace));
    children.get(runId)?.diffs.push(...content);
    if (!call) return;
    call.diffs.push(...content);
    if (call.isShown && !call.isOpen) updateCall(id, { content: [...call.diffs, ...call.output] });
  }

  function finishCall({ runId, data }: FactOf<'tool.finished'>): void {
    const id = callId(runId, data);
    const call = calls.get(id);
    if (!call) return;
    call.isOpen = false;
    call.output = outputContent(data.output);
    if (call.isShown) updateCall(id, { status: data.status === 'ok' ? 'completed' : 'failed', content: [...call.diffs, ...call.output] });
    if (runId === rootId && call.tool === 'todo' && data.status === 'ok') sendPlan(plan.takeTodo(call.arguments));
  }

  function finishAnswer({ runId, data }: FactOf<'model.answered'>): void {
    addCost(data.costUsd);
    if (runId !== rootId) return;
    answerText.finish(runId, data);
    if (!isAbandoned) deps.usage({ model, used: data.usage.input + data.usage.output, costUsd });
  }

  function addCost(more: number | null): void {
    if (more !== null) costUsd = (costUsd ?? 0) + more;
  }

  function closeOpenCalls(): void {
    for (const [id, call] of calls) {
      if (call.isShown && call.isOpen) updateCall(id, { status: 'failed' });
      call.isOpen = false;
    }
    for (const [runId, child] of children) {
      if (child.isOpen) updateCall(childCallId(runId), { status: 'failed' });
      child.isOpen = false;
    }
  }

  function takeFact(fact: Fact): void {
    const isRoot = fact.runId === rootId;
    switch (fact.type) {
      case 'run.created':
        addRun(fact);
        break;
      case 'model.asked':
        if (isRoot) model = fact.data.model;
        break;
      case 'model.answered':
        finishAnswer(fact);
        break;
      case 'model.failed':
        addCost(fact.data.costUsd);
        if (isRoot) answerText.drop();
        if (isRoot && fact.data.again && !isReplay) notice('warning', `the model call is repeated: ${fact.data.error.message}`);
        break;
      case 'tool.asked':
        addCall(fact);
        break;
      case 'approval.answered': {
        const call = calls.get(callId(fact.runId, fact.data));
        if (call?.isShown && fact.data.allowed) updateCall(callId(fact.runId, fact.data), { status: 'in_progress' });
        break;
      }
      case 'artifact.recorded':
        addArtifact(fact);
        break;
      case 'tool.finished':
        finishCall(fact);
        break;
      case 'child.ended':
        endChild(fact);
        break;
      case 'message.received':
        // The client knows its own messages; those of another process came as orders.
        if (isRoot && (isReplay || fact.data.order !== undefined)) showUser(fact.data.text, `${fact.runId}.${fact.seq}`);
        break;
      case 'run.paused':
        if (isRoot && !isReplay) notice('info', `paused: ${fact.data.reason}`);
        break;
      case 'run.ended':
        if (isRoot) closeOpenCalls();
        if (isRoot && isReplay && fact.data.outcome.error) notice('error', fact.data.outcome.error.message);
        break;
    }
  }

  return {
    take(event) {
      if (event.type !== 'delta') takeFact(event);
      else if (event.runId === rootId) answerText.takeDelta(event);
    },
    reveal(runId, call) {
      const found = calls.get(callId(runId, call));
      if (found) show(callId(runId, call), found, 'pending');
    },
    abandon() {
      closeOpenCalls();
      isAbandoned = true;
    },
  };
}

export function callId(runId: string, call: { turn: number; index: number }): string {
  return `${runId}.${callKey(call)}`;
}

function childCallId(runId: string): string {
  return `run.${runId}`;
}
