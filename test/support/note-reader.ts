// Runs that read notes through a small window, one per turn (examples/demo/long/model.ts).
import { createNoteReader, type NoteReaderOptions, noteName } from '../../examples/demo/long/model.ts';
import type { Fact, FactOf, FactType } from '../../src/contract/fact.ts';
import type { ModelHandle } from '../../src/ports/model.ts';
import { handleOf } from './recording-model.ts';
import { createWorld, type WorldOptions } from './world.ts';

export const window = 8000;
export const notes = 60;

export function noteFiles(count = notes): Record<string, string> {
  const filler = 'Nothing of importance happened on this day. '.repeat(9);
  return Object.fromEntries(
    Array.from({ length: count }, (_, i) => [noteName(i + 1), i === 0 ? 'The code word is heron-7.' : `Note ${i + 1}. ${filler}`]),
  );
}

export interface Reader extends Partial<NoteReaderOptions> {
  handle?: Partial<ModelHandle> | undefined;
  world?: WorldOptions | undefined;
}

/** A runtime whose only model reads notes; `prompts` and `limits` have the messages and the output limit of each request. */
export async function readerWorld({ handle, world, ...given }: Reader = {}) {
  const reader = createNoteReader({ notes, window, ...given });
  const prompts: string[][] = [];
  const limits: (number | undefined)[] = [];
  const doStream: typeof reader.model.doStream = (options) => {
    prompts.push(options.prompt.map((message) => JSON.stringify(message)));
    limits.push(options.maxOutputTokens);
    return reader.model.doStream(options);
  };
  const model = handleOf({ ...reader.model, doStream }, { contextWindow: window, price: () => 0.001, ...handle });
  const made = await createWorld({
    files: noteFiles(),
    limits: { maxTurns: 1000 },
    ...world,
    options: { models: { resolve: async () => model }, ...world?.options },
    settings: { model: 'test/test', ...world?.settings },
  });
  return { world: made, reader, prompts, limits, model };
}

export const task = { task: 'Read the notes.', agent: 'explore' };

export function factsOf<T extends FactType>(facts: Fact[], type: T): FactOf<T>[] {
  return facts.filter((fact) => fact.type === type) as unknown as FactOf<T>[];
}

export const compactionsAsked = (facts: Fact[]) => factsOf(facts, 'model.asked').filter(({ data }) => data.purpose === 'compact');
