// Reads and writes bodies of any of the protocols. Everything in them is untrusted, so a value of another type counts as absent.
import { maxTokenCount, type Usage } from '../../contract/content.ts';
import type { Body } from './types.ts';

export function asObject(value: unknown): Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Body) : {};
}

export function asList(value: unknown): Body[] {
  return Array.isArray(value) ? value.map(asObject) : [];
}

export function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function asCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.floor(value) : 0;
}

/** Whether each count of tokens that is there can be true. Otherwise all of them are estimated. A `null` is an absent one. */
export function areTokenCounts(...counts: unknown[]): boolean {
  return counts.every(
    (count) => count === undefined || count === null || (typeof count === 'number' && count >= 0 && count <= maxTokenCount),
  );
}

/** The text of a content that is a string or a list of blocks. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return asList(content)
    .map((block) => asText(block.text))
    .filter((text) => text !== '')
    .join('\n');
}

export function parseInput(text: string): unknown {
  if (text === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function writeEvent(data: Body, name?: string): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** Fields that are not known may cost more, name other models or make the provider act, so they are removed. */
export function keepFields(body: Body, names: readonly string[]): Body {
  return Object.fromEntries(names.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]])));
}

/** Throws if a message has content that the provider would get from elsewhere: an address would be a way out, and a stored file is not the agent's. */
export function assertLocalContent(messages: unknown): void {
  for (const block of asList(messages)) {
    const [source, file] = [asObject(block.source), asObject(block.file)];
    const media = [block.image_url, block.video_url, block.audio_url].map((each) => asObject(each).url ?? each);
    const addresses = [...media, block.file_url, source.url, file.file_url].filter((each) => each !== undefined && each !== null);
    const isStored =
      [block.file_id, source.file_id, file.file_id].some((each) => typeof each === 'string') || block.type === 'item_reference';
    if (isStored || addresses.some((each) => !/^data:/i.test(asText(each))))
      throw new Error('the model gate passes on no addresses and no stored files in messages; send the content itself');
    for (const inner of [block.content, block.output, source.content])
      if (typeof inner === 'object' && inner !== null) assertLocalContent([inner].flat());
  }
}

/** Messages after the last answer of the model. */
export function messagesSinceAnswer(body: Body): Body[] {
  const all = asList(body.messages);
  return all.slice(all.findLastIndex(({ role }) => role === 'assistant') + 1);
}

/** OpenAI's two protocols name the same counts differently. Null if there are none, or if they cannot be true. */
export function toOpenAiUsage(given: Body, [input, output]: readonly [string, string]): Usage | null {
  if (given[input] === undefined) return null;
  const cached = asCount(asObject(given[`${input}_details`]).cached_tokens);
  const reasoning = asCount(asObject(given[`${output}_details`]).reasoning_tokens);
  if (!areTokenCounts(given[input], given[output], cached, reasoning)) return null;
  return { cached, estimated: false, input: asCount(given[input]), output: asCount(given[output]), reasoning };
}

export function openAiError(message: string): Body {
  return { error: { type: 'invalid_request_error', code: null, message } };
}
