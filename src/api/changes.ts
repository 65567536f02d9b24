// What runs changed in files: the patch of a run with files of its own, and the recorded edits of the others.
import { RetinueError } from '../contract/error.ts';
import type { FactOf, StoredFact } from '../contract/fact.ts';
import type { FileChange } from '../contract/http.ts';
import type { RunRow } from '../contract/run.ts';
import type { Redact } from '../ports/secrets.ts';
import type { Store } from '../ports/store.ts';
import { createDescendantFilter } from '../records/descendants.ts';
import { factsToChanges, patchToChanges } from '../views/changes.ts';

export interface ChangesDeps {
  store: Store;
  /** Removes secrets from what is shown. */
  redact: Redact;
}

/** Of a run and its descendants. Edits that are part of a patch are not listed again. */
export async function loadChanges(row: RunRow, { store, redact }: ChangesDeps): Promise<FileChange[]> {
  const facts = (await store.facts({ rootId: row.rootId })).filter(createDescendantFilter(row.runId));
  const saved = new Map(facts.flatMap((fact) => (fact.type === 'workspace.saved' ? [[fact.runId, fact] as const] : [])));
  const parents = new Map(facts.flatMap((fact) => (fact.type === 'child.created' ? [[fact.data.childId, fact.runId] as const] : [])));
  const isCovered = (runId: string | undefined): boolean => runId !== undefined && (saved.has(runId) || isCovered(parents.get(runId)));
  const edits = factsToChanges(facts.filter((fact) => !isCovered(fact.runId)));
  const patches = await Promise.all([...saved.values()].map(async (fact) => ({ runId: fact.runId, patch: await readPatch(fact, store) })));
  const toText = (patch: Uint8Array) => redact(Buffer.from(patch).toString('utf8'), true);
  return [...edits, ...patches.flatMap(({ runId, patch }) => (patch ? patchToChanges(runId, toText(patch)) : []))];
}

/** Of a run's own files, as its outcome has them: the newest of each kind. */
export function findFileNotices(facts: readonly StoredFact[]): string[] {
  const prepared = facts.findLast((fact) => fact.type === 'workspace.prepared');
  const saved = facts.findLast((fact) => fact.type === 'workspace.saved');
  return [prepared, saved].flatMap((fact) => (fact && 'notices' in fact.data ? fact.data.notices : []));
}

/** The patch of a run as it was stored; null if the run had no files of its own, or changed nothing. */
export async function loadPatch({ runId }: RunRow, store: Store): Promise<Uint8Array | null> {
  const saved = (await store.facts({ runId, types: ['workspace.saved'] })).at(-1);
  return saved?.type === 'workspace.saved' ? readPatch(saved, store) : null;
}

async function readPatch({ runId, data }: FactOf<'workspace.saved'>, store: Store): Promise<Uint8Array | null> {
  if (data.patch === null) return null;
  const content = await store.blob(data.patch);
  if (content === null)
    throw new RetinueError('usage', `the changes of run ${runId} are not in this database: an export does not contain them`);
  return typeof content === 'string' ? Buffer.from(content) : content;
}
