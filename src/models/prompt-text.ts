// The text of prompt messages and tool results, for the models that read their conversation themselves (script/ and offline/).
import type { LanguageModelV4Message, LanguageModelV4ToolResultOutput } from '@ai-sdk/provider';

export function messageText(message: LanguageModelV4Message): string {
  if (message.role === 'system') return message.content;
  const texts: string[] = [];
  for (const part of message.content) {
    if (part.type === 'text' || part.type === 'reasoning') texts.push(part.text);
    else if (part.type === 'tool-result') texts.push(outputText(part.output));
  }
  return texts.join('\n');
}

export function outputText(output: LanguageModelV4ToolResultOutput): string {
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
