// A model made of rules that reads numbered notes, one per turn, and at the end says what the first one said. It remembers nothing between calls: whatever it
// knows is in the request. It refuses requests that are larger than its window, as a provider does.
import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4Content,
  type LanguageModelV4StreamPart,
  type LanguageModelV4Usage,
} from '@ai-sdk/provider';

type Prompt = LanguageModelV4CallOptions['prompt'];

export interface NoteReader {
  model: LanguageModelV4;
  /** Tokens of the largest request, and the number of requests. */
  seen: { largest: number; requests: number; compactions: number };
}

export interface NoteReaderOptions {
  notes: number;
  /** In tokens: one for three bytes of the prompt. */
  window: number;
  /** Replaces the summary of a compaction. */
  summarize?: (prompt: Prompt) => string;
  onTurn?: (turn: number) => void;
}

export const noteName = (n: number): string => `note-${String(n).padStart(4, '0')}.txt`;
const codeWord = /code word is ([a-z]+-\d+)/;

export function createNoteReader({ notes, window, summarize = writeHandOver, onTurn = () => {} }: NoteReaderOptions): NoteReader {
  const seen = { largest: 0, requests: 0, compactions: 0 };
  let cachedMessages: string[] = [];

  function answer(options: LanguageModelV4CallOptions): { content: LanguageModelV4Content[]; usage: LanguageModelV4Usage } {
    const messages = options.prompt.map((message) => JSON.stringify(message));
    const input = toTokens(messages);
    if (input > window)
      throw new APICallError({ message: 'maximum context length exceeded', url: 'demo:', requestBodyValues: {}, statusCode: 400 });
    seen.requests++;
    seen.largest = Math.max(seen.largest, input);
    const same = messages.findIndex((message, index) => message !== cachedMessages[index]);
    const cached = toTokens(same < 0 ? messages : messages.slice(0, same));
    cachedMessages = messages;
    const content = nextContent(options.prompt);
    const output = toTokens([JSON.stringify(content)]);
    return {
      content,
      usage: {
        inputTokens: { total: input, noCache: input - cached, cacheRead: cached, cacheWrite: undefined },
        outputTokens: { total: output, text: output, reasoning: undefined },
      },
    };
  }

  function nextContent(prompt: Prompt): LanguageModelV4Content[] {
    if (isCompaction(prompt)) {
      seen.compactions++;
      return [{ type: 'text', text: summarize(prompt) }];
    }
    const next = lastNote(prompt) + 1;
    onTurn(next);
    if (next > notes)
      return [{ type: 'text', text: `I have read ${notes} notes. The code word in the first one is ${findCodeWord(prompt)}.` }];
    return [{ type: 'tool-call', toolCallId: `call-${next}`, toolName: 'read', input: JSON.stringify({ path: noteName(next) }) }];
  }

  return {
    seen,
    model: {
      specificationVersion: 'v4',
      provider: 'demo',
      modelId: 'note-reader',
      supportedUrls: {},
      async doGenerate(options) {
        const made = answer(options);
        return { ...made, finishReason: finishReason(made.content), warnings: [] };
      },
      async doStream(options) {
        options.abortSignal?.throwIfAborted();
        const { content, usage } = answer(options);
        const parts: LanguageModelV4StreamPart[] = [
          { type: 'stream-start', warnings: [] },
          ...content.flatMap(toParts),
          { type: 'finish', finishReason: finishReason(content), usage },
        ];
        return { stream: ReadableStream.from(parts) as ReadableStream<LanguageModelV4StreamPart> };
      },
    },
  };
}

/** A hand-over by rules: the code word, if the conversation still has it. */
export function writeHandOver(prompt: Prompt): string {
  return [
    '# Goal\nRead all notes in order, then say what the code word in the first one is.',
    `# Open steps\nRead ${noteName(lastNote(prompt) + 1)} and the notes after it.`,
    `# Facts\nThe code word is ${findCodeWord(prompt)}.`,
    '# Errors\nnone',
  ].join('\n');
}

export function findCodeWord(prompt: Prompt): string {
  return codeWord.exec(JSON.stringify(prompt.filter((message) => message.role !== 'system')))?.[1] ?? 'unknown';
}

export function isCompaction(prompt: Prompt): boolean {
  return JSON.stringify(prompt.at(-1)).includes('[compaction]');
}

/** The note of the last call, or the one before the next step of a hand-over. */
function lastNote(prompt: Prompt): number {
  const calls = prompt
    .flatMap((message) => (message.role === 'assistant' ? message.content : []))
    .filter((part) => part.type === 'tool-call');
  const called = /note-(\d+)/.exec(JSON.stringify(calls.at(-1)?.input ?? ''))?.[1];
  if (called !== undefined) return Number(called);
  const next = /Open steps\\nRead note-(\d+)/.exec(JSON.stringify(prompt))?.[1];
  return next === undefined ? 0 : Number(next) - 1;
}

function toTokens(texts: string[]): number {
  return Math.ceil(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / 3);
}

function finishReason(content: LanguageModelV4Content[]) {
  const unified = content.some((part) => part.type === 'tool-call') ? ('tool-calls' as const) : ('stop' as const);
  return { unified, raw: unified };
}

function toParts(part: LanguageModelV4Content): LanguageModelV4StreamPart[] {
  if (part.type === 'tool-call') return [part];
  if (part.type !== 'text') return [];
  return [
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta: part.text },
    { type: 'text-end', id: '1' },
  ];
}
