// Memories and scratchpads in memory, and the word search that both implementations share.
import type { Memories, Memory, ScratchpadEntry, Scratchpads } from '../ports/notes.ts';

export interface Notes {
  memories: Memories;
  scratchpads: Scratchpads;
}

/** Keeps notes in this process's memory. Never fails. */
export function createMemoryNotes(): Notes {
  /** Memories by workspace and title, oldest first. */
  const workspaces = new Map<string, Map<string, Memory>>();
  const pads = new Map<string, ScratchpadEntry[]>();

  function getOrCreate<T>(map: Map<string, T>, key: string, create: () => T): T {
    const value = map.get(key) ?? create();
    map.set(key, value);
    return value;
  }

  return {
    memories: {
      async put(workspace, memory) {
        const memories = getOrCreate(workspaces, workspace, () => new Map());
        memories.delete(memory.title);
        memories.set(memory.title, { ...memory });
      },
      async list(workspace, words) {
        const newest = [...(workspaces.get(workspace)?.values() ?? [])].reverse();
        return newest.filter(createWordFilter(words)).map((memory) => ({ ...memory }));
      },
      async remove(workspace, title) {
        return workspaces.get(workspace)?.delete(title) ?? false;
      },
    },
    scratchpads: {
      async append(rootId, entry) {
        getOrCreate(pads, rootId, () => []).push({ ...entry });
      },
      async read(rootId) {
        return (pads.get(rootId) ?? []).map((entry) => ({ ...entry }));
      },
      async remove(rootId) {
        pads.delete(rootId);
      },
    },
  };
}

/** Selects memories whose title or text contains every word, ignoring case. Without words it selects all. */
export function createWordFilter(words: string | undefined): (memory: Memory) => boolean {
  const wanted = normalizeCase(words ?? '')
    .split(/\s+/)
    .filter((word) => word !== '');
  return ({ title, text }) => {
    const whole = normalizeCase(`${title}\n${text}`);
    return wanted.every((word) => whole.includes(word));
  };
}

function normalizeCase(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}
