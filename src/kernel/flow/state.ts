// The part of a run's state that only flows have: its steps and their results. Pure.
import type { Draft, FactData } from '../../contract/fact.ts';
import type { Json } from '../../contract/json.ts';
import type { Outcome } from '../../contract/outcome.ts';
import type { CallState } from '../../conversation/request.ts';
import { isAwaitingApproval } from '../../conversation/tool-calls.ts';

export type StepResult =
  | { status: 'ok'; value: Json | undefined }
  | { status: 'error'; error: NonNullable<FactData['step.finished']['error']> }
  | { status: 'unknown' }
  | { status: 'outcome'; outcome: Outcome }
  | { status: 'answer'; answer: FactData['approval.answered'] };

export interface StepState extends Omit<FactData['step.started'], 'until'> {
  until: string | null;
  /** The run that it delegated. */
  childId: string | null;
  /** The question of an `ask`, in the form in which questions are answered. */
  question: CallState | null;
  result: StepResult | null;
}

export interface FlowState {
  /** In the order in which the program began them. */
  steps: StepState[];
  /** Steps with a result, in the order of the facts. The program gets their results in this order. */
  finished: StepState[];
  /** The program has ended without an error. */
  hasReturned: boolean;
  /** What the user should know about the end of the program. */
  notices: string[];
}

export function startStep(flow: FlowState, data: FactData['step.started']): void {
  flow.steps.push({ ...data, until: data.until ?? null, childId: null, question: null, result: null });
}

/** Later results of a step have no effect. */
export function finishStep({ steps, finished }: FlowState, number: number, result: StepResult): void {
  const step = steps[number - 1];
  if (!step || step.result) return;
  step.result = result;
  finished.push(step);
}

export function factToResult({ status, value, error }: FactData['step.finished']): StepResult {
  if (status === 'ok') return { status, value };
  return status === 'unknown' || !error ? { status: 'unknown' } : { status: 'error', error };
}

/** The question of a step becomes a call without a model, so that it is answered like any other. */
export function addQuestion({ steps }: FlowState, data: FactData['approval.asked']): void {
  const { turn, index, tool, hash, expiresAt, subjects } = data;
  const step = steps[turn - 1];
  if (!step) return;
  step.question = {
    ...{ turn, index, tool, arguments: data.arguments, callId: `${turn}.${index}`, original: null, meta: undefined },
    ...{ rejected: null, idempotent: true, waits: true, finished: null, pruned: false },
    approval: { hash, expiresAt, subjects, answer: null },
  };
}

type BegunStep = Pick<StepState, 'kind' | 'name' | 'at'> & { brief?: string | undefined };

/** How a step differs from its record, with both source lines; null if it is the same. A brief decides, and names only where no brief is recorded. */
export function describeStepChange(known: StepState, { kind, name, at, brief }: BegunStep, names: string[]): string | null {
  const isSameKind = known.kind === kind;
  if (isSameKind && (known.brief === undefined ? names.includes(known.name) : known.brief === brief)) return null;
  const now = `\`${kind} ${name}\` at ${at}`;
  const before = `\`${known.kind} ${known.name}\` at ${known.at}`;
  return isSameKind && known.brief !== undefined
    ? `${now} with another brief than ${before} before`
    : `${now}, but it was ${before} before`;
}

/** Side effects without a result. */
export function findOpenEffects(flow: FlowState | null): StepState[] {
  return (flow?.steps ?? []).filter(({ kind, result }) => kind === 'step' && !result);
}

/** Side effects that were under way when the process died and may not be repeated. `begun`: those of a paused flow; null if that is not known. */
export function interruptedStepFacts(flow: FlowState | null, begun: { turn: number }[] | null): Draft[] {
  const cut = findOpenEffects(flow).filter(({ idempotent, step }) => !idempotent && (begun?.some(({ turn }) => turn === step) ?? true));
  return cut.map(({ step }) => ({ type: 'step.finished', data: { status: 'unknown', step } }));
}

/** Work that the program did not wait for, so that it may not be done. What the program has cancelled is left out. */
export function describeOpenSteps({ steps }: FlowState, cancelled: ReadonlyMap<number, string>): string[] {
  const open = steps.filter(({ kind, step, result }) => (kind === 'step' || kind === 'delegate') && !result && !cancelled.has(step));
  return open.map(({ kind, step, name, at }) => {
    const place = at === '' ? '' : ` at ${at}`;
    return `step ${step}, \`${kind} ${name}\`${place}, had not ended when the program returned; await every step`;
  });
}

/** True if the flow itself does nothing until a child, a person or a time is due. */
export function isFlowWaiting({ steps }: FlowState): boolean {
  const open = steps.filter(isOpen);
  return open.length > 0 && open.every(({ kind }) => kind !== 'step');
}

export function findRunningStep({ steps }: FlowState): StepState | null {
  return steps.find((step) => isOpen(step) && step.kind === 'step') ?? null;
}

function isOpen({ kind, result, question }: StepState): boolean {
  if (kind === 'log') return false;
  return question ? isAwaitingApproval(question) : result === null;
}
