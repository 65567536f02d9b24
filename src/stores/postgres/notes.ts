// Memories and scratchpads in the PostgreSQL database of the store.
import { hash, randomBytes } from 'node:crypto';
import type { Memory, ScratchpadEntry } from '../../ports/notes.ts';
import { createWordFilter, type Notes } from '../notes-memory.ts';
import type { Connections } from './connections.ts';
import { decodeText, encodeText } from './encode.ts';

/** An index holds only short texts, so workspaces and titles are found by their hashes. */
const hashWorkspace = (workspace: string) => hash('sha256', workspace);
const hashTitle = (workspace: string, title: string) => hash('sha256', JSON.stringify([workspace, title]));

export function createNotes(connections: Connections): Notes {
  const { schema: s } = connections;
  /** Entries are written in the order of the calls. */
  let lastEntry: Promise<unknown> = Promise.resolve();

  function appendEntry(rootId: string, { runId, text, at }: ScratchpadEntry): Promise<unknown> {
    // The id makes a repeated statement harmless.
    return connections.query({
      text: `INSERT INTO ${s}.scratch (id, root, run, text, at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO NOTHING`,
      values: [randomBytes(12).toString('hex'), encodeText(rootId), encodeText(runId), encodeText(text), at],
    });
  }

  return {
    memories: {
      async put(workspace, { title, text, at }) {
        // Adding a memory again makes it the newest one.
        await connections.transact(async (transaction) => {
          const name = hashTitle(workspace, title);
          transaction.send({ text: `DELETE FROM ${s}.memories WHERE name = $1`, values: [name] });
          transaction.send({
            text: `INSERT INTO ${s}.memories (place, name, workspace, title, text, at) VALUES ($1, $2, $3, $4, $5, $6)`,
            values: [hashWorkspace(workspace), name, encodeText(workspace), encodeText(title), encodeText(text), at],
          });
        });
      },
      async list(workspace, words) {
        const rows = await connections.query<Memory>({
          text: `SELECT title, text, at FROM ${s}.memories WHERE place = $1 ORDER BY n DESC`,
          values: [hashWorkspace(workspace)],
        });
        return rows
          .map(({ title, text, at }) => ({ title: decodeText(title), text: decodeText(text), at }))
          .filter(createWordFilter(words));
      },
      async remove(workspace, title) {
        const rows = await connections.query({
          text: `DELETE FROM ${s}.memories WHERE name = $1 RETURNING 1`,
          values: [hashTitle(workspace, title)],
        });
        return rows.length > 0;
      },
    },
    scratchpads: {
      async append(rootId, entry) {
        const copy = { ...entry };
        const written = lastEntry.then(() => appendEntry(rootId, copy));
        lastEntry = written.catch(() => {});
        await written;
      },
      async read(rootId) {
        const rows = await connections.query<ScratchpadEntry>({
          text: `SELECT run AS "runId", text, at FROM ${s}.scratch WHERE root = $1 ORDER BY n`,
          values: [encodeText(rootId)],
        });
        return rows.map(({ runId, text, at }) => ({ runId: decodeText(runId), text: decodeText(text), at }));
      },
      async remove(rootId) {
        await connections.query({ text: `DELETE FROM ${s}.scratch WHERE root = $1`, values: [encodeText(rootId)] });
      },
    },
  };
}
