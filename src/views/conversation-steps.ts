// Steps of a flow and acceptance checks in the conversation of a run: they look like calls. Pure.
import type { Fact, FactData } from '../contract/fact.ts';
import type { CallItem, Conversation } from './conversation-items.ts';
import { callKey } from './describe-call.ts';
import { nameSleep } from './live-steps.ts';

type StepFact = Extract<Fact, { type: 'step.started' | 'step.finished' | 'check.started' | 'check.finished' }>;

/** `flowQuestion` of the contract; a value import would put the schema library into the dashboard. */
const flowOwner = 'the flow';
const checkStatus = { passed: 'ok', failed: 'error', refused: 'denied', unknown: 'unknown' } as const;

export function checkKey({ round, index }: { round: number; index: number }): string {
  return `check ${round}.${index}`;
}

export function applyStep(conversation: Conversation, fact: StepFact): void {
  const { seq, at } = fact;
  const add = (call: string, item: Pick<CallItem, 'tool' | 'arguments'>, owner: string) => {
    const added: CallItem = {
      kind: 'call',
      ...{ seq, at, call, ...item, decision: { action: 'allow', owner, rule: null }, rejected: null, status: 'open' },
      ...{ output: '', truncated: null, taint: [], artifacts: [], children: [], endedAt: null },
    };
    conversation.calls.set(call, added);
    conversation.items.push(added);
  };
  const end = (call: string, status: CallItem['status'], output: string) => {
    const item = conversation.calls.get(call);
    if (item) Object.assign(item, { status, output, endedAt: at });
  };
  switch (fact.type) {
    case 'step.started': {
      const { step, kind, name, at: line } = fact.data;
      if (kind === 'log') conversation.items.push({ kind: 'log', seq, at, from: line, text: name });
      else
        add(
          callKey({ turn: step, index: 0 }),
          { tool: kind, arguments: { task: kind === 'sleep' ? nameSleep(name).slice('sleep '.length) : name, at: line } },
          flowOwner,
        );
      return;
    }
    case 'step.finished': {
      const { step, status, value, error } = fact.data;
      const output = error ? `${error.name}: ${error.message}` : value === undefined ? '' : JSON.stringify(value, null, 2);
      end(callKey({ turn: step, index: 0 }), status, output);
      return;
    }
    case 'check.started': {
      const { agent, command } = fact.data;
      const item =
        agent === undefined ? { tool: 'check', arguments: { command } } : { tool: 'review', arguments: { task: command, agent } };
      add(checkKey(fact.data), item, 'whoever wrote the brief');
      return;
    }
    case 'check.finished':
      end(checkKey(fact.data), checkStatus[fact.data.status], fact.data.output);
  }
}

/** The answer to a question of a flow ends its step. False for a call of a model, which is made after it. */
export function answerQuestion(conversation: Conversation, data: FactData['approval.answered'], at: string): boolean {
  const item = conversation.calls.get(callKey(data));
  if (item?.decision.owner !== flowOwner) return false;
  const output = `${data.allowed ? 'approved' : 'refused'} by ${data.by}${data.reason === undefined ? '' : `: ${data.reason}`}`;
  Object.assign(item, { status: data.allowed ? 'ok' : 'denied', output, endedAt: at });
  return true;
}

/** The end of a run ends the step that delegated it. */
export function endDelegation(item: CallItem, { outcome }: FactData['child.ended'], at: string): void {
  if (item.decision.owner !== flowOwner) return;
  const status = outcome.success ? 'ok' : outcome.status === 'cancelled' ? 'cancelled' : 'error';
  Object.assign(item, { status, output: outcome.error?.message ?? '', endedAt: at });
}
