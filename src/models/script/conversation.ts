import type { LanguageModelV4CallOptions, LanguageModelV4Message, LanguageModelV4ToolResultOutput } from '@ai-sdk/provider';
import type { ModelRequester } from '../../ports/model.ts';

/** What a script can see of the call that it answers. */

type Prompt = LanguageModelV4CallOptions['prompt'];

/** The text that came in since the model last spoke. */
export function lastHeard(prompt: Prompt): string {
  const spoken = prompt.findLastIndex((message) => message.role === 'assistant');
  const heard = prompt.slice(spoken + 1).filter((message) => message.role === 'user' || message.role === 'tool');
  return heard.map(textOf).join('\n');
}

/** How many answers of this run are in the prompt. A run that goes on with another's conversation has that one's answers before its own. */
export function answersOf(prompt: Prompt, user: ModelRequester): number {
  const own = prompt.slice(firstOf(prompt, user.task) + 1);
  return own.filter((message) => message.role === 'assistant' && message.content.length > 0).length;
}

/** The run's own first message is its task, or has it among other things; a short task may well occur in what was said later. */
function firstOf(prompt: Prompt, task: string): number {
  const exact = prompt.findLastIndex((message) => message.role === 'user' && textOf(message) === task);
  return exact >= 0 ? exact : prompt.findIndex((message) => message.role === 'user' && textOf(message).includes(task));
}

/** Ids of runs that the conversation names (`run ` and 16 hex digits), each once, in the order of their first mention. */
export function runIds(prompt: Prompt): string[] {
  const text = prompt
    .filter((message) => message.role !== 'system')
    .map(textOf)
    .join('\n');
  return [...new Set(Array.from(text.matchAll(/\brun ([0-9a-f]{16})\b/g), (match) => match[1] ?? ''))];
}

export function offered(options: LanguageModelV4CallOptions): string[] {
  return (options.tools ?? []).map((tool) => tool.name);
}

function textOf(message: LanguageModelV4Message): string {
  if (message.role === 'system') return message.content;
  const texts: string[] = [];
  for (const part of message.content) {
    if (part.type === 'text' || part.type === 'reasoning') texts.push(part.text);
    else if (part.type === 'tool-result') texts.push(outputText(part.output));
  }
  return texts.join('\n');
}

function outputText(output: LanguageModelV4ToolResultOutput): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value;
    case 'json':
    case 'error-json':
      return JSON.stringify(output.value);
    case 'execution-denied':
      return output.reason ?? '';
    case 'content':
      return output.value.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
  }
}
