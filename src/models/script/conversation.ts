// What a script can see of the call that it answers.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { ModelRequester } from '../../ports/model.ts';
import { messageText } from '../prompt-text.ts';

type Prompt = LanguageModelV4CallOptions['prompt'];

/** The user messages and tool results since the model's last answer. */
export function latestInput(prompt: Prompt): string {
  const lastAnswer = prompt.findLastIndex((message) => message.role === 'assistant');
  const input = prompt.slice(lastAnswer + 1).filter((message) => message.role === 'user' || message.role === 'tool');
  return input.map(messageText).join('\n');
}

/** How many answers of this run are in the prompt. Answers of a conversation that the run continues do not count. */
export function countAnswers(prompt: Prompt, run: ModelRequester): number {
  const own = prompt.slice(findFirstMessage(prompt, run.task) + 1);
  return own.filter((message) => message.role === 'assistant' && message.content.length > 0).length;
}

/** The run's first message is its task or contains it. An exact match goes first: a short task may occur in later messages. */
function findFirstMessage(prompt: Prompt, task: string): number {
  const exact = prompt.findLastIndex((message) => message.role === 'user' && messageText(message) === task);
  return exact >= 0 ? exact : prompt.findIndex((message) => message.role === 'user' && messageText(message).includes(task));
}

/** Ids of the runs that the conversation mentions (`run ` and 16 hex digits), each once, in order of first mention. */
export function findRunIds(prompt: Prompt): string[] {
  const text = prompt
    .filter((message) => message.role !== 'system')
    .map(messageText)
    .join('\n');
  return [...new Set(Array.from(text.matchAll(/\brun ([0-9a-f]{16})\b/g), (match) => match[1] ?? ''))];
}

export function toolNames(options: LanguageModelV4CallOptions): string[] {
  return (options.tools ?? []).map((tool) => tool.name);
}
