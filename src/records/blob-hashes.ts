import type { Fact } from '../contract/fact.ts';

/** Hashes of the texts (blobs) that a fact refers to. */
export function listBlobHashes(fact: Fact): string[] {
  if (fact.type === 'run.created') {
    const { definition, images = [] } = fact.data;
    return [...(definition ? [definition] : []), ...images.map(({ blob }) => blob)];
  }
  if (fact.type === 'run.started') return [fact.data.system, fact.data.tools, fact.data.history].filter((hash) => hash !== null);
  return fact.type === 'artifact.recorded' && fact.data.blob !== null ? [fact.data.blob] : [];
}
