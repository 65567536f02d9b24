// The plan of a simulated tree: random briefs, and for each run the answers of its model. An answer depends only on the conversation, so a repeated
// request gets the same answer.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { ContentPart } from '../../src/contract/content.ts';
import type { LimitsGiven } from '../../src/contract/limits.ts';
import { unknownEffectText } from '../../src/kernel/tool-calls/judge.ts';
import type { Random } from './random.ts';

export type Call = { tool: string; args: object };

export interface PlannedRun {
  task: string;
  /** The answers in order; the last one has no calls. */
  steps: { text: string; calls: (Call | Follow)[] }[];
}

/** A call about a child of an earlier call; the child's id is in the conversation by then. */
type Follow = { tool: 'delegate_wait' | 'delegate_cancel' | 'delegate_message'; nth: number };

export interface Plan {
  /** `isReviewed`: a reviewer decides whether it is done. */
  roots: { task: string; limits: LimitsGiven; isReviewed: boolean }[];
  /** The client that delegates the roots, and when it disconnects; null if they have no parent. */
  client: { endsWithClient: boolean; limits: LimitsGiven; leavesAfterMs: number | null } | null;
  /** The flow that delegates the roots; null if none does. `askMs`: how long its question is open. */
  flow: { isParallel: boolean; sleepMs: number; askMs: number } | null;
  /** Where tools execute: those of top-level runs, and those of delegated runs. */
  hosts: { top: HostName; delegated: HostName };
  runs: Map<string, PlannedRun>;
  price: boolean;
  /** Of the model; small enough that conversations are compacted, or null. */
  contextWindow: number | null;
  /** Without a known window: the tokens above which the provider refuses requests as too long. */
  refusesAbove: number | null;
}

export type HostName = 'inline' | 'process';

const maxRuns = 12;
const maxDepth = 3;

export function createPlan(random: Random): Plan {
  const runs = new Map<string, PlannedRun>();
  let made = 0;
  let effects = 0;

  function run(depth: number): PlannedRun {
    const planned: PlannedRun = { task: `task ${++made} of the plan.`, steps: [] };
    runs.set(planned.task, planned);
    const turns = random.int(0, 3);
    for (let turn = 0; turn < turns; turn++) planned.steps.push({ text: random.hit(0.5) ? `I go on (${turn}).` : '', calls: calls(depth) });
    planned.steps.push({ text: random.hit(0.03) ? '' : `${planned.task} is done.`, calls: [] });
    return planned;
  }

  function calls(depth: number): (Call | Follow)[] {
    return Array.from({ length: random.int(1, 3) }, () => {
      if (depth < maxDepth && made < maxRuns && random.hit(depth === 0 ? 0.6 : 0.3)) return delegation(depth);
      if (random.hit(0.2))
        return { tool: random.pick(['delegate_wait', 'delegate_cancel', 'delegate_message'] as const), nth: random.int(0, 3) };
      return { tool: random.pick(['strike', 'strike', 'put', 'look']), args: { n: ++effects } };
    });
  }

  function delegation(depth: number): Call {
    const tasks = [];
    const wanted = random.int(1, 4);
    for (let i = 0; i < wanted && made < maxRuns; i++) tasks.push({ task: run(depth + 1).task, agent: 'any' });
    const wait = random.pick([undefined, undefined, 0, 1]);
    return { tool: 'delegate', args: { tasks, ...(wait === undefined ? {} : { wait_seconds: wait }) } };
  }

  const roots = Array.from({ length: random.hit(0.25) ? 2 : 1 }, () => ({
    task: run(0).task,
    limits: limits(random),
    isReviewed: false,
  }));
  const client = random.hit(0.3)
    ? { endsWithClient: random.hit(0.5), limits: limits(random), leavesAfterMs: random.hit(0.3) ? random.int(1, 3000) : null }
    : null;
  const host = () => random.pick(['inline', 'inline', 'process'] as const);
  const price = random.hit(0.5);
  const contextWindow = random.hit(0.3) ? random.int(400, 2000) : null;
  const refusesAbove = contextWindow === null && random.hit(0.3) ? random.int(500, 2500) : null;
  const hosts = { top: host(), delegated: host() };
  // Drawn last, so that the rest of a plan does not depend on it.
  const flow = client === null && random.hit(0.25) ? { isParallel: random.hit(0.5), sleepMs: random.pick([0, 50, 3000]), askMs: 0 } : null;
  for (const root of roots) root.isReviewed = random.hit(0.2);
  if (flow) flow.askMs = random.pick([1, 500, 20_000]);
  return { roots, client, flow, hosts, runs, price, contextWindow, refusesAbove };
}

function limits(random: Random): LimitsGiven {
  return {
    maxDepth,
    ...(random.hit(0.15) ? { timeoutMs: random.int(50, 5000) } : {}),
    ...(random.hit(0.15) ? { maxTokens: random.int(2000, 20_000) } : {}),
    ...(random.hit(0.1) ? { maxTurns: random.int(1, 3) } : {}),
    ...(random.hit(0.1) ? { maxConcurrent: random.int(1, 2) } : {}),
  };
}

type Prompt = LanguageModelV4CallOptions['prompt'];

export function isCompaction(prompt: Prompt): boolean {
  return JSON.stringify(prompt.at(-1)).includes('[compaction]');
}

/** How many answers the run has had: those in the prompt, and those that a hand-over covers. The answer of its last turn follows it. */
export function countAnswers(prompt: Prompt): number {
  const isAnswer = (message: Prompt[number] | undefined) => message?.role === 'assistant';
  const at = prompt.findLastIndex((message) => message.role === 'user' && JSON.stringify(message).includes('[hand-over after turn'));
  const after = prompt.slice(at + 1).filter(isAnswer).length;
  if (at < 0) return after;
  const covered = Number(/\[hand-over after turn (\d+)\]/.exec(JSON.stringify(prompt[at]))?.[1]);
  return covered + after - (isAnswer(prompt[at + 1]) ? 1 : 0);
}

/** The model's answer to this request. */
export function answerTo(plan: Plan, task: string, { prompt, toolChoice }: LanguageModelV4CallOptions): ContentPart[] {
  if (isCompaction(prompt)) return [{ type: 'text', text: '# Goal\nas before' }];
  if (toolChoice?.type === 'none') return [{ type: 'text', text: 'That is as far as I came.' }];
  if (task.startsWith('Decide whether')) return [verdict(prompt, countAnswers(prompt))];
  const run = plan.runs.get(task);
  const said = countAnswers(prompt);
  const heard = JSON.stringify(prompt.slice(prompt.findLastIndex((message) => message.role === 'assistant') + 1));
  // A call with an unknown effect is repeated once, as a model would do after checking.
  const last = prompt.findLast((message) => message.role === 'assistant');
  const cut =
    heard.includes(unknownEffectText.slice(0, 40)) && last?.role === 'assistant'
      ? last.content.find((part) => part.type === 'tool-call')
      : null;
  if (cut?.type === 'tool-call' && cut.toolName === 'strike')
    return [{ type: 'tool-call', callId: `again ${said}`, tool: 'strike', input: JSON.stringify(cut.input) }];
  const step = run?.steps[said];
  if (!step) return [{ type: 'text', text: `${task} has nothing more to do.` }];
  const ids = [...new Set(Array.from(JSON.stringify(prompt).matchAll(/\brun ([0-9a-f]{16})\b/g), (match) => match[1] as string))];
  const calls = step.calls.flatMap((call) => (call ? (('nth' in call ? follow(call, ids) : call) ?? []) : []));
  const text: ContentPart[] = step.text === '' ? [] : [{ type: 'text', text: step.text }];
  return [
    ...text,
    ...calls.map(
      (call, i): ContentPart => ({ type: 'tool-call', callId: `${said}.${i}`, tool: call.tool, input: JSON.stringify(call.args) }),
    ),
  ];
}

/** A reviewer looks at nothing. Its verdict depends on the answer that it is shown, and it passes every second one. */
function verdict(prompt: Prompt, said: number): ContentPart {
  const input = JSON.stringify({ verdict: JSON.stringify(prompt).length % 2 === 0 ? 'pass' : 'fail', reason: 'as it is' });
  return { type: 'tool-call', callId: `verdict ${said}`, tool: 'submit_result', input };
}

function follow({ tool, nth }: Follow, ids: string[]): Call | null {
  const id = ids[nth % Math.max(1, ids.length)];
  if (tool === 'delegate_wait') return { tool, args: { seconds: 2 } };
  if (id === undefined) return null;
  return tool === 'delegate_cancel' ? { tool, args: { ids: [id] } } : { tool, args: { id, text: `a word about ${nth}` } };
}
