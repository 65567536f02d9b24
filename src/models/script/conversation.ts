// What a script can see of the call that it answers.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { Effort } from '../../contract/effort.ts';
import type { CallSettings, ModelRequester } from '../../ports/model.ts';
import { messageText } from '../prompt-text.ts';

type Prompt = LanguageModelV4CallOptions['prompt'];

/** The user messages and tool results since the model's last answer. */
export function latestInput(prompt: Prompt): string {
  const lastAnswer = prompt.findLastIndex((message) => message.role === 'assistant');
  const input = prompt.slice(lastAnswer + 1).filter((message) => message.role === 'user' || message.role === 'tool');
  return input.map(messageText).join('\n');
}

/**
 * How many answers the run has had, by the prompt. Answers of a conversation that the run continues do not count. A hand-over says which turn it covers; the
 * answer of that turn follows it.
 */
export function countAnswers(prompt: Prompt, run: ModelRequester): number {
  const own = prompt.slice(findFirstMessage(prompt, run.task) + 1);
  const isAnswer = (message: Prompt[number]) => message.role === 'assistant' && message.content.length > 0;
  const handOver = own.findLastIndex((message) => message.role === 'user' && handOverPattern.test(messageText(message)));
  const answers = own.slice(handOver + 1).filter(isAnswer).length;
  const covered = handOver < 0 ? 0 : Number(handOverPattern.exec(messageText(own[handOver] as Prompt[number]))?.[1]);
  return covered === 0 ? answers : covered - (isAnswer(own[handOver + 1] as Prompt[number]) ? 1 : 0) + answers;
}

const handOverPattern = /^\[hand-over after turn (\d+)\]/;

/** Whether the call asks for a summary of the conversation. */
export function isCompactionRequest(prompt: Prompt): boolean {
  const last = prompt.at(-1);
  return last?.role === 'user' && messageText(last).startsWith('[compaction]');
}

/** The run's first message is its task or contains it. An exact match goes first: a short task may occur in later messages. */
function findFirstMessage(prompt: Prompt, task: string): number {
  const exact = prompt.findLastIndex((message) => message.role === 'user' && messageText(message) === task);
  return exact >= 0 ? exact : prompt.findIndex((message) => message.role === 'user' && messageText(message).includes(task));
}

/** How results of the dialects introduce the id of a run. */
const runId = /(?:\brun |\bagentId: |"agent_id":"|"subagent_id":"|- ID: )([0-9a-f]{16})\b/g;

/** Ids of the runs that the conversation mentions, each once, in order of first mention. */
export function findRunIds(prompt: Prompt): string[] {
  const text = prompt
    .filter((message) => message.role !== 'system')
    .map(messageText)
    .join('\n');
  return [...new Set(Array.from(text.matchAll(runId), (match) => match[1] ?? ''))];
}

export function toolNames(options: LanguageModelV4CallOptions): string[] {
  return (options.tools ?? []).map((tool) => tool.name);
}

export function effortToSettings(effort: Effort): CallSettings {
  return typeof effort === 'number' ? { providerOptions: { script: { effort } } } : { reasoning: effort };
}

/** The effort that a call asks for; null if it asks for none. */
export function findEffort({ reasoning, providerOptions }: LanguageModelV4CallOptions): Effort | null {
  const own = providerOptions?.script?.effort;
  if (typeof own === 'number') return own;
  return reasoning === undefined || reasoning === 'provider-default' ? null : reasoning;
}
